# full-cycle.hcl on three nodes that hold the same shard: the enqueue, claim and completion of a
# cycle are each acknowledged when two of the three nodes have them in their logs. A proposal
# contains all commands that waited during the previous one.

scenario "raft-full-cycle" {
  title = "Create, claim and complete over gRPC streams, three nodes, one shard"
  tags  = ["raft", "core"]

  references = ["bare"]

  # Three server processes on this host, each with its own data folder, log and ports. Four
  # processes share the host's CPUs: more than one thread each would only compete for them.
  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # One task per call. A commit takes longer than in one process, so more concurrent calls are
  # needed to fill the proposals: the rate is the commits per second multiplied by the tasks per
  # commit.
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
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}

  invariant "conserved" {}
}
