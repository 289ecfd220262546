# What `prony compare` measures without --scenario: many short rounds of two builds in turn. A shared host changes its
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

  # What disturbs a round disturbs those beside it in its block alike, and what is left is in the control: so a round is
  # held unfit only where the host was hardly there.
  validity {
    foreign_cpu_percent_max = 30
    steal_percent_max       = 15
    trend_percent_max       = "any"
  }

  # Profiles are taken in rounds of their own after the others, so that a difference has causes.
  profiled_rounds = 2

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
