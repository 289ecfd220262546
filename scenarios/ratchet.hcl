# What `prony ratchet` scores a change by without --scenario: a duet of both builds at each point of a sweep, all points in each
# generation of fresh processes. At each point producers and workers are so many, the base's rate is found in 0.5 s of closed load, and
# latencies are those of arrivals at 30 % of that rate, from the intended start: 50 ms each of base and change in turn.

# The sweep replaces both.
locals {
  producers = 1
  workers   = 1
}

scenario "ratchet" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, with 1 to 64 workers, for two builds that are alive together"
  tags  = ["compare", "single-node"]

  include "shared/two-builds.hcl" {}

  # Each worker has a producer that keeps it busy.
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
