# full-cycle.hcl on three nodes that hold the same shard: a cycle's enqueue, claim and completion are each acknowledged
# when two of the three have them in their logs. A proposal carries all that waited while the one before was on its way.

scenario "raft-full-cycle" {
  title = "Create, claim and complete over gRPC streams, three nodes, one shard"
  tags  = ["raft", "core"]

  references = ["bare"]

  # Three server processes on this host, each with a data folder, a log and ports of its own. Four processes share the
  # host's CPUs with each other: more threads than one of each would only fight over them.
  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # One task per call. A commit takes longer than in one process, so that it takes more calls under way at once to fill
  # the proposals: the rate is that of commits times the tasks in one.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 256
    workers     = 512
    batch       = 1
    in_flight   = 1024
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}

  invariant "conserved" {}
}
