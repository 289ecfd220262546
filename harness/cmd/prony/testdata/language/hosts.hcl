# prony explain FILE
scenario "network" {
  topology "raft" {
    durability = "none"
    hosts {
      loss_percent = 0.1
      bandwidth    = "100Mbit"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.hosts.round_trip" { values = ["0.1ms", "10ms"] }
}
