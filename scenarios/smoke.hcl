# The first scenario of `make perf-smoke`: the load of full-cycle.hcl in under a minute.
# `prony guard` measures it as a duet with the baseline build. `prony run` measures it in three
# short rounds, which detect a broken build but no small differences.

scenario "smoke" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, three short rounds"
  tags  = ["smoke", "single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 1
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "1s"
    warmup_max = "4s" # the warm-up continues until the rate is steady
    window     = "3s"
    drain      = "30s"
  }

  # With fewer than six rounds, the spread of a median is its range.
  rounds = 3

  capture "mutex" {}
  capture "block" {}
  capture "cpu" {}

  invariant "conserved" {}

  # CI runs on shared machines. A neighbour slows both builds equally and must not fail the run, so
  # an unfit host is only a warning. The long scenarios are strict.
  validity { on_breach = "warn" }
}
