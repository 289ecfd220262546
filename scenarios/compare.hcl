# What `prony compare` measures without --scenario: a duet. Both builds are alive together, and the load alternates between them in
# slices of 10 ms: a shared host changes its speed by half within seconds, and what tells a change from that is that both sides see
# the same host. Each generation of fresh processes has 3 s of closed load and then 1 s of open load at 30 % of the base's rate.

locals {
  producers = 32
  workers   = 128
}

scenario "compare" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, for two builds that are alive together"
  tags  = ["compare", "single-node"]

  include "shared/two-builds.hcl" {}

  # Of interleaved rounds, which `prony compare --rounds` measures.
  rounds = 20

  # Profiles are taken in generations of their own after the others, so that a difference has causes: six after a loss was called.
  profiled_rounds = 2

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}
}
