# prony validate FILE
# Mistakes with stages.
scenario "stages" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s") }
  workload "b" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", "30s", "10k/s") }
  workload "c" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["30s", "10k/s"]) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["2s", "10k"]) }
  workload "e" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["2s", "2k/s"], [2, "1k/s"]) }
  workload "f" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["0s", "2k/s"]) }
  workload "g" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("0/s", ["2s", "0/s"]) }
  workload "h" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["2s", 0.5 * peak, 1]) }
}
scenario "more" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  arrivals = stages() }
  workload "b" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["2s", 0.1 + 0.5 * peak]) }
  workload "c" { driver = "stream"  producers = 1  workers = 1  arrivals = stages("1k/s", ["2s", null]) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  arrivals = stages(null, ["2s", "1k/s"]) }
}
