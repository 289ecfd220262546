# full-cycle.hcl with the disk in the path: one task per call, and an acknowledged enqueue or
# completion survives a loss of power. With so few tasks in flight, the server mostly waits for
# fsync; the manifest of the run states the fsync latency of the host. full-cycle-sync.hcl is the
# same in batches of 64.

scenario "full-cycle-sync-single" {
  title = "Create, claim and complete over gRPC streams, one task per call, each acknowledgement after fsync"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 1
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
