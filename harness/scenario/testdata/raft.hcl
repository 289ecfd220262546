# Clusters.
scenario "raft" {
  topology "raft" {
    nodes      = 5
    shards     = 4
    durability = "sync"
    listen     = "tcp"
    coalesce   = false
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "cost" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.kind" { values = [single(), sharded(), raft(1), raft(3)] }
  sweep "topology.durability" { values = ["none", "sync"] }
  sweep "topology.shards" { values = [1] }
}

scenario "nodes" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.nodes" { values = [1, 3, 7] }
  sweep "topology.coalesce" { values = [true, false] }
}
