# What can be wrong with a sweep, and with the values that it sweeps.
scenario "sweeps" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases {
    window = "5s"
  }
  sweep "topology.shards" { values = [1, 2] }
  sweep "topology.durability" { values = ["none", "syn"] }
  sweep "topology.durability" { values = ["none"] }
  sweep "topology.shard" { values = [1] }
  sweep "workload.mian.batch" { values = [1] }
  sweep "workload.main.batch" { values = [1, 1] }
  sweep "workload.main.lease" { values = "1s" }
  sweep "workload.main.queues" {}
  sweep "workload.main.tenants" { values = [] }
  sweep "workload.main.producers" { values = [many, 1 + 1] }
  sweep "phases.window" { values = ["1s"] }
  sweep "workers" { values = [1]  of = "main" }
  sweep { values = [1] }
}

scenario "too-many-points" {
  topology "sharded" {
    durability = "none"
  }
  workload "main" {
    driver = "stream"
  }
  phases {
    window = "5s"
  }
  sweep "topology.shards" { values = [1, 2, 3, 4, 5, 6, 7, 8, 9] }
  sweep "workload.main.workers" { values = [1, 2, 3, 4, 5, 6, 7, 8] }
  sweep "workload.main.connections" { values = [1, 2, 3, 4, 5, 6, 7] }
}
