# How much noisy tenants affect a quiet tenant on the same shard. The quiet tenant sends at a fixed
# rate far below the server's capacity; the noisy tenants send as fast as the server answers. The
# quiet tenant's latency counts from the due times of its tasks.

variable "quiet_rate" { default = "500/s" }

scenario "noisy-neighbour" {
  title = "A quiet tenant at ${var.quiet_rate} and noisy tenants on one shard"
  tags  = ["single-node", "isolation", "core"]

  references = ["bare"]

  include "shared/single.hcl" {}

  workload "quiet" {
    driver    = "stream"
    procs     = 1
    producers = 16
    workers   = 16
    payload   = fixed(64)
    arrivals  = rate(var.quiet_rate)
    in_flight = 5000 # ten seconds of its rate: tasks beyond that are dropped
  }

  workload "noisy" {
    driver    = "stream"
    procs     = 1
    tenants   = 4
    queues    = 8
    producers = 4
    workers   = 32
    batch     = 16
    payload   = lognormal(128, "2KiB")
    keys      = zipf(1.1)
    in_flight = 4096 # beyond that its producers wait, so that no backlog grows
  }

  # Little noise, and the maximum that the server accepts.
  sweep "workload.noisy.producers" { values = [1, 32] }

  rounds = 6

  # The generator shares two CPUs with a busy server, so it is late more often than with an idle
  # one.
  validity { slip_ms_p99_max = 10 }
}
