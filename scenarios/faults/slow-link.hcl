# The links between all nodes get 20 ms of delay in each direction, and later carry a mebibyte a second. Nobody fails: the
# rate falls to what the links allow and comes back with them.

scenario "slow-link" {
  title = "Slow links between all nodes: 20 ms each way, then 1 MiB/s"
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

  fault "delay" {
    target = all()
    at     = "5s"
    for    = "10s"
    delay  = "20ms"
    jitter = "2ms"
  }

  fault "bandwidth" {
    target = all()
    at     = "25s"
    for    = "10s"
    rate   = "1MiB/s"
  }

  invariant "conserved" {}
  invariant "exclusive" {}
}
