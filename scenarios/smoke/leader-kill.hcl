# One kill of the leader under load, fsync before each acknowledgement: nothing that was acknowledged may be lost or completed twice, and
# another node leads within seconds. A call whose outcome is unknown is made again under the key of its task.

# The node that was killed catches up for some seconds, which costs the others CPU time: the rate is judged after that as well.
variable "window" { default = "10s" }

scenario "smoke-leader-kill" {
  title  = "A leader killed under load, three nodes, fsync before each acknowledgement"
  tags   = ["smoke", "raft", "faults"]
  rounds = 1

  references = ["cpu"]

  include "shared/short.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "sync"
    procs      = 1
  }

  workload "main" {
    driver     = "stream"
    procs      = 1
    producers  = 32
    workers    = 64
    batch      = 16
    in_flight  = 8192
    idempotent = true
    payload    = fixed(64)
    lease      = "5s"
  }

  fault "kill" {
    target        = leader()
    at            = "2s"
    restart_after = "1s"
  }

  limit "server_cpu_us_per_cycle" {
    relative_to = "cpu"
    max         = 12.5
    because     = "7.5 to 9.7: a single round with an election spreads more than the rounds of smoke-raft"
  }

  limit "not_recovered" {
    max     = 0
    because = "the rate is back before the window ends"
  }

  limit "fault_first_ack_ms_max" {
    max     = 5000
    because = "0 to 230 ms. Another node leads after an election"
  }

  limit "fault_recovery_ms_max" {
    max     = 5000
    because = "0 to 1,000 ms. The rate is back with the next leader"
  }

  limit "fault_level_ratio" {
    min                     = 0.5
    foreign_cpu_percent_max = 10
    because                 = "0.71 to 1.02 in 13 rounds when nothing else ran, 0.63 and 0.73 beside a loaded core: after one fault the killed node still catches up. Half is a rate that does not come back"
  }

  limit "cycle_latency_ms_p99" {
    max     = 5000
    because = "220 to 420 ms, for calls that waited for the election. Many times as much is a stall, or a backlog that grows"
  }

  limit "server_rss_mb_max" {
    max     = 2500
    because = "970 MB, of three nodes. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
