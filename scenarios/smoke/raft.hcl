# The load of raft-full-cycle.hcl, short: three nodes without faults. leader-kill.hcl kills their
# leader.

variable "window" { default = "2s" }

scenario "smoke-raft" {
  title  = "Create, claim and complete over gRPC streams, three nodes, one shard"
  tags   = ["smoke", "raft"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 256
    workers   = 512
    in_flight = 1024
    payload   = fixed(64)
  }

  limit "cycles_per_s" {
    min     = 3200
    because = "a tenth of the rate of the slowest host, 32,600: a safety net for hosts that cannot measure the baseline build"
  }
}
