# prony explain FILE
# Everything that the language has for values, in one file.
variable "durability" { default = "none" }
variable "rate" { default = 5 }
variable "quick" { default = [1, 2] }

locals {
  burst  = 4 * var.rate
  small  = "${local.per_producer * 16}B"
  lease  = "${2 * local.burst}s"
}

scenario "whole" {
  title = "Two workloads, ${var.durability}"
  tags  = ["language"]
  include "shared/base.hcl" {}

  workload "quiet" {
    driver    = "stream"
    tenants   = 2
    producers = 4
    workers   = 2
    payload   = fixed(local.small)
    arrivals  = rate("${var.rate}k/s")
    lease     = local.lease
  }
  workload "noisy" {
    driver    = "stream"
    tenants   = 3
    queues    = 16
    producers = var.workers / local.per_producer
    workers   = var.workers
    batch     = 8
    payload   = lognormal(64, "1KiB")
    keys      = zipf(1 + 0.2)
    seed      = 42
    arrivals  = burst("1k/s", "${local.burst}k/s", "5s", "500ms")
  }

  sweep "workload.noisy.batch" { values = var.quick }
  zip {
    sweep "workload.quiet.arrivals" { values = [rate("${var.rate}k/s"), ramp("1k/s", "${2 * var.rate}k/s", "10s")] }
    sweep "workload.quiet.queues"   { values = [var.rate - 4, 2 * (var.rate - 4)] }
  }
  rounds = 3
  capture "mutex" {}
  invariant "ordered" { on = "workload.quiet" }
}
