# A server that is killed with SIGKILL while a backlog waits, and started again: each acknowledged
# task must still exist, exactly once, and must soon be claimed. Every acknowledgement came after an
# fsync.

variable "window" { default = "2s" }
variable "durability" { default = "sync" }

scenario "smoke-recovery" {
  title = "A server killed with 600,000 tasks waiting, and started again"
  tags  = ["smoke", "single-node", "faults"]

  include "shared/short.hcl" {}
  include "shared/single.hcl" {}

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 128
    batch     = 64
    in_flight = 16384
    payload   = fixed(64)
  }

  rounds = 2 # of each build, in turn

  backlog {
    tasks   = 600000
    restart = "kill"
    fill    = "30s"
    drain   = "30s"
  }

  limit "drain_cycles_per_s" {
    of_baseline = 0.5
    because     = "a drain takes a second or two, so one stall of the host halves its rate: the ratio of a pair of rounds has a standard deviation of 21 %"
  }

  limit "server_cpu_us_per_cycle" {
    of_baseline = 1.5
    because     = "the ratio of a pair of rounds has a standard deviation of 13 %, and there are two pairs"
  }

  limit "restart_first_claim_s" {
    max     = 10
    because = "0.2 to 0.84 s on a quiet host. A start reads the queues and the leases, but not the backlog"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "a few goroutines for each connection and stream. More would be growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 400
    because = "227 to 257 MB. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
