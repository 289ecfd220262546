# Clusters that can't be.
scenario "values" {
  topology "raft" {
    nodes      = 8
    shards     = 33
    durability = "none"
    listen     = "unix"
    coalesce   = "no"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "alone" {
  topology "sharded" {
    nodes      = 3
    shards     = 2
    durability = "none"
    coalesce   = true
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "kinds" {
  topology "raft" {
    kind       = "raft"
    nodes      = 3
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.kind" { values = [single(), raft(0), raft(3), raft("3"), raft(null), remote(), 3, "raft"] }
}
