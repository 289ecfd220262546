# full-cycle.hcl with the disk in the path: an acknowledged enqueue or completion survives a loss of power. The
# figures depend on how long an fsync takes on the host, which the manifest of the run states.

scenario "full-cycle-sync" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard, each acknowledgement after fsync"
  tags  = ["single-node"]

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

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
