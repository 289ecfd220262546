# The whole life of a task over gRPC streams: enqueue, claim, complete, each acknowledged by the server. A
# cycle counts when the acknowledgement of its completion arrived, so this measures finished work, not hand-off.

scenario "full-cycle" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard"
  tags  = ["single-node", "core"]

  # What is under test: one server process with one shard, started fresh for each round.
  topology "single" {
    shards = 1

    # When the server acknowledges. "none": after the write reached the operating system, without waiting for
    # the disk. full-cycle-sync.hcl is the same at "sync".
    durability = "none"

    listen = "tcp"

    # Server and generator share two CPUs: one each. With two each, their threads fight over the same cores,
    # which costs at least a third more CPU per cycle.
    procs = 1

    # Each answers the other as fast as it is asked: to sleep between two frames and be woken would take longer than to
    # look for the next one. It is off unless asked for, because it spends time that would be idle.
    busy_poll = true
  }

  # What load is put on it.
  workload "main" {
    driver      = "stream"
    procs       = 1
    busy_poll   = true
    connections = 1

    # Each producer has one task in flight: it enqueues the next when the last was acknowledged. Each worker
    # slot claims one task, completes it and waits for the acknowledgement before it claims again.
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
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # From six rounds on, a median has a 95 % interval.
  rounds = 7

  # The bare data path is measured beside the rounds, so that hosts and days can be compared.
  references = ["bare"]

  # Profiles are taken in one more round, which is not timed.
  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  # What must hold after each round: no task lost, duplicated or changed.
  invariant "conserved" {}
}
