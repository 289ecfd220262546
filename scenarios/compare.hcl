# What `prony compare` measures without --scenario: a duet. Both builds are alive together, and the load alternates between them in
# slices of 10 ms: a shared host changes its speed by half within seconds, and what tells a change from that is that both sides see
# the same host. Each generation of fresh processes has 3 s of closed load and then 1 s of open load at 30 % of the base's rate.

scenario "compare" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, for two builds that are alive together"
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

  # Of interleaved rounds, which `prony compare --rounds` measures. A duet has lengths of its own.
  phases {
    warmup = "400ms"
    window = "1s"
    drain  = "30s"
  }

  rounds = 20

  # What disturbs the host disturbs the slices of both sides alike, so a generation is dropped only where the host was hardly there.
  validity {
    foreign_cpu_percent_max = 30
    steal_percent_max       = 15
    trend_percent_max       = "any"
  }

  # Profiles are taken in generations of their own after the others, so that a difference has causes: six after a loss was called.
  profiled_rounds = 2

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
