# What harness/gate's diagnosis is tested on: the engine with an injected fault against the engine without, in turn.
# Batches are small, so that what a fault costs for each commit shows as much as what it costs for each task, and the
# server has a CPU more than the generator, so that its goroutines can wait for each other.

scenario "fault-injection" {
  title = "Create, claim and complete with few tasks in flight, to find injected faults"
  tags  = ["self-test"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 2
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 8
    workers     = 16
    batch       = 1
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup = "300ms"
    window = "1s"
    drain  = "30s"
  }

  rounds = 2

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}

  # The diagnosis must stand a host that others use: what it accuses is not how fast something is.
  validity { on_breach = "warn" }
}
