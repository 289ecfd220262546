# Twenty tenants that share one shard, with writes and reads. Eighteen quiet ones send their share each, a noisy one sends its share at the
# first point and ten times its share at the second, and the tasks of the last one wait for their only worker. No read may be answered
# wrongly: every eighth asks for another tenant's task, one that waits where there is one. The quiet tenants' latency at the two points
# says what they notice of the noisy one.

variable "share" { default = ["500/s", "5k/s"] } # of the noisy tenant
variable "quiet_rate" { default = "9k/s" }       # 18 times a share

scenario "pooled-tenants" {
  title = "20 tenants on one shard with writes and reads, one of them at its share and at ten times that"
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
    in_flight = 90000 # ten seconds of its rate: what is due beyond that is dropped
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
    in_flight = 500 # of them all but the one that its worker has wait
  }

  sweep "workload.noisy.arrivals" { values = [rate(var.share[0]), rate(var.share[1])] }

  rounds = 6

  # The generator shares two CPUs with a server that is busy: it is late more often than beside an idle one.
  validity { slip_ms_p99_max = 10 }
}
