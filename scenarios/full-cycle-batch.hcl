# full-cycle.hcl in explicit batches: how fast the data path is when 64 tasks share the cost of
# calls and frames.

scenario "full-cycle-batch" {
  title = "Create, claim and complete over gRPC streams in batches of 64, one Pebble shard"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1 # server and generator get a CPU each, as in full-cycle.hcl
  }

  # Producers do not wait for completions, and an enqueue is cheaper than a claim and a completion.
  # Without a bound, a backlog would grow for the whole window. The producers' calls hold up to
  # 2,048 tasks and the workers' slots up to 8,192; about the same number may be ready in between.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 64
    in_flight   = 16384
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
