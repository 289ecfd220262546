# What `prony ratchet` measures without --scenario to score a change: a duet of both builds at each
# point of a sweep, with all points in each generation of fresh processes. A point sets the number
# of producers and workers. The rate of the base build is found in 0.5 s of closed load. Latencies
# are then measured under arrivals at 30 % of that rate, from the intended start: slices of 50 ms of
# base and change in turn.

# The sweep replaces both.
locals {
  producers = 1
  workers   = 1
}

scenario "ratchet" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, with 1 to 64 workers, for two builds that run together"
  tags  = ["compare", "single-node"]

  include "shared/two-builds.hcl" {}

  # One producer for each worker keeps it busy.
  zip {
    sweep "workload.main.workers"   { values = [1, 2, 4, 8, 16, 32, 64] }
    sweep "workload.main.producers" { values = [1, 2, 4, 8, 16, 32, 64] }
  }

  # The geometric mean of the ratios of change to base, over the metrics and the points. Below 1 the change is better.
  score {
    metric "enqueue_latency_ms_p95" {}
    metric "cycle_latency_ms_p95" {}
  }

  rounds = 6
}
