# Each node in turn is asked to end and started again, as in an upgrade. A node that leads hands the lead over before it
# ends, and clients follow: no call may fail.

scenario "rolling-restart" {
  title = "Rolling restart of all nodes under load"
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
    window = "55s"
    drain  = "60s"
  }

  rounds = 1

  fault "restart" {
    target = each()
    at     = "5s"
    every  = "8s"
    times  = 6
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
