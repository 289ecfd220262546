# Whoever leads is killed with SIGKILL, fifty times in a row under load, and started again a second later. What includes this says the durability
# and whether tasks have keys (var.durability, var.idempotent).

topology "raft" {
  nodes      = 3
  shards     = 1
  durability = var.durability
  procs      = 1
}

# Batches of 16 keep the cluster busy without taking every CPU from it.
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
  window = "5m10s"
  drain  = "60s"
}

fault "kill" {
  target        = leader()
  at            = "5s"
  restart_after = "1s"
  every         = "6s"
  times         = 50
}

invariant "conserved" {}
invariant "exclusive" {}
