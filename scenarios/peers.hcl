# Prony's server and other queue servers, under the same load and the same account of tasks. The
# points of a scenario take turns, and each round starts the servers afresh. Each scenario has one
# guarantee: only figures of the same guarantee are compared. A driver program (make peers) starts
# the servers; a server that is not installed, or does not have the guarantee, is skipped with the
# reason. The whole file takes about two hours if every server is installed, and half an hour with
# --var rounds=1.
#
# Prony's own server, target "prony", is reached through the same program as the others. The
# scenario peers-direct reaches it without the program: the difference is the cost of the program.

variable "rounds" { default = 6 }

scenario "peers" {
  title  = "Queue servers that acknowledge after an fsync"
  tags   = ["peers"]
  rounds = var.rounds

  target "prony" { guarantee = "fsync" }
  sweep "target.name" { values = ["prony", "nats", "redis-list", "redis-stream", "rabbitmq-classic", "beanstalkd", "postgresql", "river", "asynq"] }
  include "shared/peers.hcl" {}
}

scenario "peers-majority" {
  title  = "Queue servers of three nodes that acknowledge when most nodes have the write"
  tags   = ["peers"]
  rounds = var.rounds

  target "prony" {
    guarantee = "majority"
    nodes     = 3
  }
  zip {
    sweep "target.name"      { values = ["prony", "nats", "prony", "nats", "rabbitmq-quorum"] }
    sweep "target.guarantee" { values = ["majority", "majority", "majority_fsync", "majority_fsync", "majority_fsync"] }
  }
  include "shared/peers.hcl" {}
}

# What each server loses when all of its processes are killed. The round's ledger counts tasks that
# the server acknowledged and no longer has as lost, which makes the verdict incorrect. River and
# Asynq are left out: if a task was claimed at the kill, they return it only after a minute or more,
# and the ledger cannot distinguish this from a loss.
scenario "peers-kill" {
  title  = "What queue servers lose at kill -9"
  tags   = ["peers", "faults"]
  rounds = 1

  target "prony" { guarantee = "fsync" }
  zip {
    sweep "target.name" {
      values = [
        "prony", "prony", "nats", "nats", "redis-list", "redis-list", "redis-stream", "redis-stream", "rabbitmq-classic", "rabbitmq-quorum",
        "beanstalkd", "beanstalkd", "postgresql", "postgresql",
      ]
    }
    sweep "target.guarantee" {
      values = [
        "os", "fsync", "os", "fsync", "memory", "fsync", "memory", "fsync", "fsync", "fsync",
        "os", "fsync", "os", "fsync",
      ]
    }
  }
  workload "main" {
    driver      = "program"
    connections = 4
    producers   = 16
    workers     = 32
    batch       = 16
    in_flight   = 1024
    lease       = "5s" # tasks that were claimed before the kill return within the drain
  }
  phases {
    warmup = "2s"
    window = "15s"
    drain  = "30s"
  }
  fault "kill" {
    target        = all()
    at            = "5s"
    restart_after = "1s"
  }
  validity { foreign_cpu_percent_max = "any" } # the CPU time of killed processes is unknown and looks like that of other processes
}

scenario "peers-idle" {
  title  = "CPU time and memory of queue servers with waiting workers and empty queues"
  tags   = ["peers"]
  rounds = 3

  target "prony" { guarantee = "fsync" }
  sweep "target.name" { values = ["prony", "nats", "redis-list", "redis-stream", "rabbitmq-classic", "rabbitmq-quorum", "beanstalkd", "postgresql", "river", "asynq"] }
  workload "main" {
    driver   = "program"
    workers  = 8
    arrivals = none()
  }
  phases {
    warmup = "5s"
    window = "10s"
    drain  = "5s"
  }
}

scenario "peers-direct" {
  title  = "Prony's own server under the same load without the driver program between"
  tags   = ["peers"]
  rounds = var.rounds

  topology "single" { durability = "none" }
  workload "main" {
    driver      = "stream"
    connections = 4
    producers   = 16
    workers     = 32
    payload     = fixed(64)
  }
  sweep "topology.durability" { values = ["none", "sync"] }
  zip {
    sweep "workload.main.batch"     { values = [1, 64] }
    sweep "workload.main.in_flight" { values = [96, 4096] }
  }
  sweep "workload.main.payload" { values = [fixed(64), fixed("4KiB")] }
  phases {
    warmup = "2s"
    window = "4s"
    drain  = "30s"
  }
  validity { trend_percent_max = "any" } # as in shared/peers.hcl

  invariant "conserved" {}
}

scenario "peers-os" {
  title  = "Queue servers that acknowledge when the operating system has the write"
  tags   = ["peers"]
  rounds = var.rounds

  target "prony" { guarantee = "os" }
  sweep "target.name" { values = ["prony", "nats", "redis-list", "redis-stream", "rabbitmq-classic", "beanstalkd", "postgresql", "river", "asynq"] }
  include "shared/peers.hcl" {}
}

scenario "peers-memory" {
  title  = "Queue servers that acknowledge in memory"
  tags   = ["peers"]
  rounds = var.rounds

  target "nats" { guarantee = "memory" }
  sweep "target.name" { values = ["nats", "redis-list", "redis-stream", "rabbitmq-classic", "beanstalkd", "asynq"] }
  include "shared/peers.hcl" {}
}

# Redis with appendfsync everysec, its default for the append-only file. It writes to the file
# before it answers, but may postpone the write while the previous fsync still runs. The guarantee
# is weaker than os and stronger than memory.
scenario "peers-everysec" {
  title  = "Redis that syncs its file once a second"
  tags   = ["peers"]
  rounds = var.rounds

  target "redis-list" {
    guarantee = "memory"
    settings { appendfsync = "everysec" }
  }
  sweep "target.name" { values = ["redis-list", "redis-stream"] }
  include "shared/peers.hcl" {}
}
