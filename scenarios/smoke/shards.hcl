# Four shards in one process, which has both CPUs.

variable "window" { default = "2s" }

scenario "smoke-shards" {
  title  = "Create, claim and complete in batches of 16, four shards in one process"
  tags   = ["smoke", "single-node"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}

  topology "sharded" {
    shards     = 4
    durability = "none"
  }

  workload "main" {
    driver      = "stream"
    connections = 4
    queues      = 8
    producers   = 64
    workers     = 128
    batch       = 16
    in_flight   = 16384
    payload     = fixed(64)
  }

  limit "cycles_per_s" {
    min     = 16000
    because = "a tenth of the rate of the slowest host, 162,600: a safety net for hosts that cannot measure the baseline build"
  }
}
