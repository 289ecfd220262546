# First nothing reaches the leader while what it sends arrives, then the other way round. In the first case it does not hear
# that its entries were taken, in the second its followers don't hear of it.

scenario "partition-one-way" {
  title = "The leader's links cut in one direction for 10 s, then in the other"
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
    window = "45s"
    drain  = "60s"
  }

  rounds = 3

  fault "partition" {
    target    = leader()
    at        = "5s"
    for       = "10s"
    direction = "in"
  }

  fault "partition" {
    target    = leader()
    at        = "25s"
    for       = "10s"
    direction = "out"
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
