# The load of full-cycle-batch.hcl, short.

variable "window" { default = "2s" }
variable "durability" { default = "none" }

scenario "smoke-batch" {
  title  = "Create, claim and complete over gRPC streams in batches of 64, one Pebble shard"
  tags   = ["smoke", "single-node"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}
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

  limit "cycles_per_s" {
    min     = 30000
    because = "a tenth of the rate of the slowest host, 353,000: a safety net for hosts that cannot measure the baseline build"
  }
}
