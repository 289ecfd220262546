# full-cycle.hcl in explicit batches: what the data path does when the cost of calls and frames is shared by 64 tasks.

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

  # Producers do not wait for completions, and enqueueing is the cheaper part: without a bound they put up a backlog
  # that grows for as long as the window lasts. 2,048 tasks can be in the producers' calls and 8,192 in the workers'
  # slots; as many again may be ready in between.
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
    warmup_max = "10s" # it goes on until the rate is steady
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
