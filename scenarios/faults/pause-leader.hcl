# The leader is stopped with SIGSTOP for thirty seconds, six times as long as a lease. The others elect another one and
# its tasks are handed out again when their leases end; what it wakes up with must be refused.

scenario "pause-leader" {
  title = "The leader paused for 30 s, leases of 5 s"
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
    window = "50s"
    drain  = "60s"
  }

  rounds = 3

  fault "pause" {
    target = leader()
    at     = "5s"
    for    = "30s"
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
