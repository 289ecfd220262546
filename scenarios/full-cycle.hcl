# The whole life of a task over gRPC streams: enqueue, claim and completion, each acknowledged by
# the server. A cycle counts when the acknowledgement of its completion arrives, so the rate
# measures finished work.

scenario "full-cycle" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard"
  tags  = ["single-node", "core"]

  # The system under test: one server process with one shard, started afresh for each round.
  topology "single" {
    shards = 1

    # When the server acknowledges. "none": after the write reached the operating system, without waiting for
    # the disk. full-cycle-sync.hcl is the same at "sync".
    durability = "none"

    listen = "tcp"

    # Server and generator share two CPUs, one each. With two each, their threads compete for the
    # same cores, which costs at least a third more CPU time per cycle.
    procs = 1

    # Both sides poll their connections. Each answers at once, so polling for the next frame takes
    # less time than sleeping and waking up. Polling is off by default because it uses CPU time that
    # would be idle.
    busy_poll = true
  }

  # The load.
  workload "main" {
    driver      = "stream"
    procs       = 1
    busy_poll   = true
    connections = 1

    # Each producer has one task in flight: it enqueues the next one when the server has
    # acknowledged the last. Each worker slot claims one task, completes it and waits for the
    # acknowledgement before it claims again.
    producers = 32
    workers   = 128
    batch     = 1
    arrivals  = closed()

    # Bytes per task.
    payload = fixed(64)
  }

  # The parts of a round. Only the window is measured. The drain ends as soon as all tasks are completed.
  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # From six rounds on, a median has a 95 % interval.
  rounds = 7

  # Measures the bare data path between the rounds, so that results of different hosts and days can
  # be compared.
  references = ["bare"]

  # One additional round, which is not timed, records profiles.
  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  # What must hold after each round: no task lost, duplicated or changed.
  invariant "conserved" {}
}
