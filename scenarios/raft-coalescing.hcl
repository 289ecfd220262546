# The gain of sharing Raft entries: the same load with all waiting commands in one entry of the Raft
# log, and with one entry for each command. The two points alternate.

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

  # A session sends all waiting tasks in one frame, which is one command. With few sessions, the
  # client would do the grouping that this scenario measures in the server. So there are many
  # sessions with a few tasks each.
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
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  sweep "topology.coalesce" { values = [true, false] }

  invariant "conserved" {}
}
