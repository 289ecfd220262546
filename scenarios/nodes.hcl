# The effect of more nodes: a cluster of 1, 3 and 5 nodes with one shard and with four. Each node
# stores every task, so each additional node is more work for the same CPUs. On one host the result
# is the price of the copies; nodes on separate hosts would be faster.

scenario "nodes" {
  title = "Create, claim and complete in batches of 64 on 1, 3 and 5 nodes, with one and four shards"
  tags  = ["raft", "core"]

  references = ["bare"]

  include "shared/sweep.hcl" {}

  # nodes and shards are swept.
  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
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
  }

  rounds = 6

  sweep "topology.nodes" { values = [1, 3, 5] }
  sweep "topology.shards" { values = [1, 4] }
}
