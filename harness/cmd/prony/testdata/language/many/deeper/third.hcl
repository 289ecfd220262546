scenario "third" {
  tags = ["raft", "smoke"]
  topology "raft" { durability = "none"  shards = 2 }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases {
    warmup = "1s"
    window = "1s"
  }
  rounds = 4
}
