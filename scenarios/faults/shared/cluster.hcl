# Three nodes that hold one shard, under steady load, and their invariants, for scenarios with
# faults. The including file sets the durability, whether tasks have keys (var.durability,
# var.idempotent) and the length of the window (local.window).

topology "raft" {
  nodes      = 3
  shards     = 1
  durability = var.durability
  procs      = 1
}

# Batches of 16 keep the cluster busy but leave it some CPU time. A task with a key is enqueued
# again under that key if the outcome of a call is unknown.
workload "main" {
  driver      = "stream"
  procs       = 1
  connections = 1
  producers   = 32
  workers     = 64
  batch       = 16
  in_flight   = 8192
  idempotent  = var.idempotent
  payload     = fixed(64)
  arrivals    = closed()
  lease       = "5s"
}

phases {
  warmup = "2s"
  window = local.window
  drain  = "60s"
}

invariant "conserved" {}
invariant "exclusive" {}
