# The first scenario of `make perf-smoke`: the shape of full-cycle.hcl in under a minute. `prony guard` measures it as a duet with the baseline
# build; `prony run` in three short rounds, which tell a break from a working build and no small differences.

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
    warmup_max = "4s" # it goes on until the rate is steady
    window     = "3s"
    drain      = "30s"
  }

  # Below six rounds the spread shown beside a median is its range.
  rounds = 3

  capture "mutex" {}
  capture "block" {}
  capture "cpu" {}

  invariant "conserved" {}

  # CI runs on shared machines. A neighbour slows both builds alike and must not fail the run, so an unfit host is only a warning. The long
  # scenarios are strict.
  validity { on_breach = "warn" }
}
