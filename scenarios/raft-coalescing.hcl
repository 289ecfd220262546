# What it gives that all commands that wait share one entry of the Raft log: raft-full-cycle.hcl with that, and without,
# where each command is an entry of its own. The two take turns.

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

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 512
    workers     = 1024
    batch       = 1
    in_flight   = 4096
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  sweep "topology.coalesce" { values = [true, false] }

  invariant "conserved" {}
}
