# The tripwire of `make perf-smoke`: the shape of full-cycle.hcl in under a minute. Three short rounds tell a
# break from a working build; they do not tell small differences apart.

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

  # What the host is worth meanwhile: baselines/smoke.hcl has limits relative to it.
  references = ["echo", "pebble_commit", "fsync", "cpu"]

  capture "mutex" {}
  capture "block" {}
  capture "cpu" {}

  invariant "conserved" {}

  # It runs in CI on shared machines, and its limits are a tenth of what is usual: a neighbour makes its figures worse, and
  # must not make it red. What the host did is in the result and on the page all the same. The long scenarios are strict.
  validity { on_breach = "warn" }
}
