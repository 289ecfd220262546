# The leader is cut off from both others for ten seconds, with clients on both sides. What it acknowledges meanwhile must not
# be lost when the cut heals: it may acknowledge nothing.

scenario "partition-leader" {
  title = "The leader cut off from the majority for 10 s"
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

  fault "partition" {
    target = leader()
    at     = "5s"
    for    = "10s"
    every  = "20s"
    times  = 3
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
