# Twenty tenants that share one shard, with writes and reads. Eighteen quiet tenants send one share
# each. A noisy tenant sends one share at the first point and ten shares at the second. The tasks of
# the last tenant wait for its only worker. No read may be answered wrongly: every eighth read asks
# for another tenant's task, a waiting one if possible. The quiet tenants' latency at the two points
# shows how much the noisy tenant affects them.

variable "share" { default = ["500/s", "5k/s"] } # of the noisy tenant
variable "quiet_rate" { default = "9k/s" }       # 18 times a share

scenario "pooled-tenants" {
  title = "20 tenants on one shard with writes and reads; one of them sends its share, then ten times its share"
  tags  = ["single-node", "isolation"]

  include "shared/single.hcl" {}

  workload "quiet" {
    driver    = "stream"
    procs     = 1
    tenants   = 18
    producers = 18
    workers   = 36
    payload   = uniform(64, 512)
    reads     = 0.2
    arrivals  = rate(var.quiet_rate)
    in_flight = 90000 # ten seconds of its rate: tasks beyond that are dropped
  }

  workload "noisy" {
    driver    = "stream"
    procs     = 1
    producers = 16
    workers   = 16
    payload   = lognormal(128, "2KiB")
    reads     = 0.2
    arrivals  = rate(var.share[0])
    in_flight = 50000
  }

  workload "waiting" {
    driver    = "stream"
    procs     = 1
    producers = 1
    workers   = 1
    reads     = 0.2
    in_flight = 500 # all of them wait but the one that its worker holds
  }

  sweep "workload.noisy.arrivals" { values = [rate(var.share[0]), rate(var.share[1])] }

  rounds = 6

  # The generator shares two CPUs with a busy server, so it is late more often than with an idle
  # one.
  validity { slip_ms_p99_max = 10 }
}
