# All three nodes are killed with SIGKILL at once and started again a second later. Every acknowledgement was on the disks
# of two of them: nothing may be lost.

scenario "kill-all" {
  title = "All three nodes killed at once, fsync before each acknowledgement"
  tags  = ["raft", "faults"]

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "sync"
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
    window = "1m30s"
    drain  = "60s"
  }

  rounds = 1

  fault "kill" {
    target        = all()
    at            = "5s"
    restart_after = "1s"
    every         = "15s"
    times         = 5
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
