# The gain and the cost of more shards on three nodes. Each shard is a separate Raft group. All
# groups of a node share one log on disk and one listener, and the shards' leaders are spread over
# the nodes.

scenario "raft-shards" {
  title = "Create, claim and complete in batches of 64, three nodes with 1, 2 and 4 shards"
  tags  = ["raft"]

  # shards and durability are swept.
  topology "raft" {
    nodes      = 3
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    queues      = 8
    producers   = 32
    workers     = 128
    batch       = 64
    in_flight   = 16384
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # Rounds per point. The points alternate, so that drift of the host affects all points equally.
  rounds = 6

  sweep "topology.shards" { values = [1, 2, 4] }
  sweep "topology.durability" { values = ["none", "sync"] }

  invariant "conserved" {}
}
