# What it gives that all commands that wait share one entry of the Raft log: the same load with that, and without, where
# each command is an entry of its own. The two alternate.

scenario "raft-coalescing" {
  title = "One task per call on three nodes, with commands that share Raft entries and with an entry for each"
  tags  = ["raft", "ablation"]

  # coalesce is swept.
  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # A session sends what waits in one frame, which is one command. With few sessions the client would do what the server
  # is measured for, so there are many, with a handful of tasks each.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 128
    producers   = 512
    workers     = 512
    batch       = 1
    in_flight   = 4096
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  sweep "topology.coalesce" { values = [true, false] }

  invariant "conserved" {}
}
