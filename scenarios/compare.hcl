# What `prony compare` measures without --scenario: a duet. Both builds run together, and the load
# alternates between them in slices of 10 ms. The speed of a shared host changes by half within
# seconds; the slices are so short that both builds see the same host. Each generation of fresh
# processes has 3 s of closed load and then 1 s of open load at 30 % of the base's rate.

locals {
  producers = 32
  workers   = 128
}

scenario "compare" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, for two builds that run together"
  tags  = ["compare", "single-node"]

  include "shared/two-builds.hcl" {}

  # For interleaved rounds, which `prony compare --rounds` measures.
  rounds = 20

  # Separate generations after the timed ones record profiles, which show the causes of a
  # difference: six after a detected loss.
  profiled_rounds = 2

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}
}
