# Nodes on hosts of their own.
scenario "hosts" {
  topology "raft" {
    durability = "none"
    hosts {
      round_trip   = "2ms"
      loss_percent = 0.1
      bandwidth    = "2.5Gbit"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "network" {
  topology "raft" {
    durability = "none"
    hosts { bandwidth = "100Mbit" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.hosts.round_trip" { values = ["0.1ms", "10ms"] }
  sweep "topology.hosts.loss_percent" { values = [0, 1] }
  sweep "topology.durability" { values = ["none", "sync"] }
}
