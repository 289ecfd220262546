scenario "whole" {
  topology "sharded" {
    shards     = 1
    durability = "none"
  }
  phases { window = "10s" }
  workload "one" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  workload "two" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  sweep "topology.shards" { values = [1, 4] }
}
