# What it costs to survive the loss of a node: the same workload on one process without Raft, on a cluster of one node,
# which has the log and no follower, and on three. The points alternate within one run, and the cost of each is
# that of the rounds of the same turn, so that a host that drifts does not count as a cost.

scenario "cost-of-ha" {
  title = "The same workload in batches of 64 on one process, on Raft with one node and on Raft with three"
  tags  = ["raft", "core"]

  references = ["bare"]

  # The kind and durability are swept.
  topology "raft" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # The bound on tasks in flight is explained in full-cycle-batch.hcl.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 64
    in_flight   = 16384
    payload     = fixed(64)
    arrivals    = closed()
  }

  # At sync, an fsync takes longer until the files of the log have their size and are written over.
  phases {
    warmup     = "8s"
    warmup_max = "16s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  # Each kind is compared with the first one at the same durability.
  sweep "topology.kind" { values = [single(), raft(1), raft(3)] }
  sweep "topology.durability" { values = ["none", "sync"] }

  invariant "conserved" {}
}
