# Three nodes that stay up under load, with the leader killed in each tenth window: whether every
# task is accounted for over all windows, and whether any figure drifts in the windows without a
# fault.
#
#   prony soak scenarios/soak/cluster-faults.hcl --folder runs/soak-cluster-faults

variable "durability" { default = "sync" }

scenario "soak-cluster-faults" {
  title = "Three nodes under load for twenty minutes, with a leader killed in each tenth window"
  tags  = ["soak", "raft", "faults"]

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = var.durability
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 64
    batch       = 16
    in_flight   = 8192
    idempotent  = true
    payload     = fixed(64)
    arrivals    = closed()
    lease       = "5s"
  }

  phases {
    warmup = "30s"
    window = "10s"
    drain  = "60s"
  }

  fault "kill" {
    target        = leader()
    at            = "3s"
    restart_after = "2s"
  }

  soak {
    for          = "20m"
    faults_every = 10
  }

  # The rate within a window may rise and fall: the soak judges the drift over all windows.
  validity { trend_percent_max = "any" }

  invariant "conserved" {}
  invariant "exclusive" {}
}
