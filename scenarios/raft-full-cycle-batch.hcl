# full-cycle-batch.hcl on three nodes: how fast replication is when 64 tasks share the cost of
# calls, frames and entries.

scenario "raft-full-cycle-batch" {
  title = "Create, claim and complete over gRPC streams in batches of 64, three nodes, one shard"
  tags  = ["raft", "core"]

  references = ["bare"]

  topology "raft" {
    nodes      = 3
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
