# prony explain FILE
# The limits of a scenario are in what is explained.
scenario "limited" {
  topology "sharded" { durability = "none"  shards = 1 }
  phases { window = "10s" }
  workload "one" { driver = "stream"  producers = 1  workers = 1 }
  workload "two" { driver = "stream"  producers = 1  workers = 1 }
  sweep "topology.shards" { values = [1, 2] }
  rounds = 2
  limit "cycles_per_s" { min = 20000.5  because = "a break" }
  limit "cycles_per_s" { min = 1.5  point = "shards=2"  relative_to_point = "shards=1"  because = "shards scale" }
  limit "cycle_latency_ms_p99" { max = 250  workload = "two"  because = "a stall" }
}
