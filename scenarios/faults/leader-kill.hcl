# Whoever leads is killed with SIGKILL, fifty times in a row under load, and started again a second later. Nothing that was
# acknowledged may be lost or completed twice; the page says how long it took until cycles were acknowledged again.

scenario "leader-kill" {
  title = "Fifty leader kills in a row under load, three nodes"
  tags  = ["raft", "faults"]

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    procs      = 1
  }

  # Batches of 16 keep the cluster busy without taking every CPU from it. A call whose outcome is unknown is made again
  # under the key of its task.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 64
    batch       = 16
    in_flight   = 8192
    idempotent  = true
    payload     = fixed(64)
    arrivals    = closed()
    lease       = "5s"
  }

  phases {
    warmup = "2s"
    window = "5m10s"
    drain  = "60s"
  }

  rounds = 1

  fault "kill" {
    target        = leader()
    at            = "5s"
    restart_after = "1s"
    every         = "6s"
    times         = 50
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
