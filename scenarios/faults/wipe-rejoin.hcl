# A follower is killed and loses its data. It is taken out of the cluster, starts empty, is taken in again and catches up while
# the others serve.

scenario "wipe-rejoin" {
  title = "A node that lost its data rejoins under load"
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
    window = "1m10s"
    drain  = "60s"
  }

  rounds = 1

  fault "wipe" {
    target        = follower()
    at            = "5s"
    restart_after = "2s"
    every         = "20s"
    times         = 3
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
