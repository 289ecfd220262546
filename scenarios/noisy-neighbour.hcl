# What a quiet tenant notices of noisy ones on the same shard: it sends at a fixed rate that is far below what the server
# bears, beside tenants that send as fast as they are answered. Its latency counts from when its tasks were due.

variable "quiet_rate" { default = "500/s" }

scenario "noisy-neighbour" {
  title = "A quiet tenant at ${var.quiet_rate} beside noisy ones on one shard"
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
    in_flight = 5000 # ten seconds of its rate: what is due beyond that is dropped
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
    in_flight = 4096 # its producers wait beyond that, so that no backlog grows
  }

  # Little noise, and as much as the server bears.
  sweep "workload.noisy.producers" { values = [1, 32] }

  rounds = 6

  # The generator shares two CPUs with a server that is busy: it is late more often than beside an idle one.
  validity { slip_ms_p99_max = 10 }
}
