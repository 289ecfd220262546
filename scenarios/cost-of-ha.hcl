# The cost of surviving the loss of a node: the same workload on one process without Raft, on a
# cluster of one node, which has the log but no follower, and on a cluster of three nodes. The
# points alternate within one run. The cost of a point compares the rounds of the same turn, so a
# host that becomes slower does not count as a cost.

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

  # At durability sync, an fsync takes longer until the log files reach their full size and are
  # overwritten.
  phases {
    warmup     = "8s"
    warmup_max = "16s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  # Each kind is compared with the first kind at the same durability.
  sweep "topology.kind" { values = [single(), raft(1), raft(3)] }
  sweep "topology.durability" { values = ["none", "sync"] }

  invariant "conserved" {}
}
