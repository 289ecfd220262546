# raft-full-cycle-batch.hcl with the disk in the path: every node fsyncs its log before it
# acknowledges an entry. All three nodes write to one disk here; three real hosts would have a disk
# each.

scenario "raft-full-cycle-sync" {
  title = "Create, claim and complete over gRPC streams in batches of 64, three nodes that fsync before they acknowledge"
  tags  = ["raft", "core"]

  references = ["bare"]

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "sync"
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

  # An fsync takes longer until the log files reach their full size and are overwritten.
  phases {
    warmup     = "8s"
    warmup_max = "16s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}

  invariant "conserved" {}
}
