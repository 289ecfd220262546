# A follower is removed from the cluster and added again five seconds later, then the leader is: the cluster goes on with two
# members, and a node that is added catches up before it has a vote.

scenario "membership-change" {
  title = "Members removed and added under load"
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

  fault "membership" {
    target = follower()
    at     = "5s"
    for    = "5s"
    every  = "15s"
    times  = 2
  }

  fault "membership" {
    target = leader()
    at     = "35s"
    for    = "5s"
    every  = "15s"
    times  = 2
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
