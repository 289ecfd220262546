# What `prony compare` measures where it is told nothing else: many short rounds of two builds in turn. A shared host changes its
# speed by half within minutes, so that what tells a change from that is the pairing of rounds that ran one after the other, not their length.

scenario "compare" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, in short rounds of two builds in turn"
  tags  = ["compare", "single-node"]

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
    warmup = "400ms"
    window = "1s"
    drain  = "30s"
  }

  # Blocks of one round each of base, change and control. These take about 90 s.
  rounds = 20

  # Profiles are taken in one more round of each side, so that a difference has causes.
  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
