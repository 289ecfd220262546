# The scenario that tests the diagnosis of harness/gate: the engine with an injected fault against
# the engine without it, in turn. Batches are small, so that a cost per commit is as visible as a
# cost per task. The server has one CPU more than the generator, so that its goroutines can wait for
# each other.

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

  # The diagnosis must work on a shared host, because it does not judge absolute speed.
  validity { on_breach = "warn" }
}
