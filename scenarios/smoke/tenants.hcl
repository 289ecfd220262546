# Twenty tenants share one server, with writes and reads, together with a noisy tenant that sends
# four times their share. No read may be answered wrongly: every eighth read asks for another
# tenant's task. The tasks of one more tenant are claimed one after the other, so that their order
# can be checked.

variable "window" { default = "2s" }

scenario "smoke-tenants" {
  title  = "Twenty tenants and a noisy one on one server"
  tags   = ["smoke", "single-node", "isolation"]
  rounds = 2 # of each build, in turn

  include "shared/short.hcl" {}

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 2
  }

  workload "pooled" {
    driver    = "stream"
    procs     = 1
    tenants   = 20
    queues    = 1
    producers = 40
    workers   = 40
    payload   = lognormal(128, "2KiB")
    reads     = 0.2
    arrivals  = rate("5k/s")
    in_flight = 20000
  }

  workload "noisy" {
    driver    = "stream"
    procs     = 1
    producers = 16
    workers   = 32
    batch     = 16
    payload   = lognormal(128, "2KiB")
    reads     = 0.2
    arrivals  = rate("1k/s")
    in_flight = 20000
  }

  # There is one worker slot, which receives the tasks in the order of the queue. It claims four at
  # once, so that the order within a delivery is checked too. The other tasks wait, so that other
  # tenants' reads of them can be refused.
  workload "ordered" {
    driver    = "stream"
    procs     = 1
    producers = 1
    workers   = 1
    batch     = 4
    payload   = fixed(64)
    reads     = 0.2
    in_flight = 500
  }

  invariant "isolated" {}
  invariant "ordered" { on = "workload.ordered" }

  limit "server_cpu_us_per_cycle" {
    of_baseline = 1.35
    because     = "the ratio of a pair of rounds has a standard deviation of 7 %, and there are two pairs"
  }

  limit "dropped" {
    max     = 0
    because = "the rates are far below the server's capacity"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "a few goroutines for each connection and stream. More would be growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 400
    because = "62 MB. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
