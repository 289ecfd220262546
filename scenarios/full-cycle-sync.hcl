# full-cycle-batch.hcl with the disk in the path: an acknowledged enqueue or completion survives a
# loss of power. All calls that wait during an fsync share the next one, so the rate is the commits
# per second multiplied by the tasks per commit. The manifest of the run states how long an fsync
# takes on the host.

scenario "full-cycle-sync" {
  title = "Create, claim and complete over gRPC streams in batches of 64, each acknowledgement after fsync"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
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
  capture "allocs" {}

  invariant "conserved" {}
}
