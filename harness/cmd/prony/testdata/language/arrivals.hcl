# prony validate FILE
# Mistakes with arrivals.
scenario "ramps" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "80k/s", "2m") }
  workload "b" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "1k/s", "2s") }
  workload "c" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "80k/s") }
  workload "d" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", 80, "2s") }
  workload "e" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", 11 * peak, "2s") }
  workload "f" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "2k/s", 2) }
  workload "g" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "2k/s", "soon") }
  workload "h" { driver = "stream"  producers = 1  workers = 1  arrivals = ramp("1k/s", "2k/s", "1us") }
}
scenario "bursts" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  arrivals = burst("5k/s", "1k/s", "2s", "1s") }
  workload "b" { driver = "stream"  producers = 1  workers = 1  arrivals = burst("1k/s", "5k/s", "1s", "2s") }
  workload "c" { driver = "stream"  producers = 1  workers = 1  arrivals = burst("1k/s", "5k/s", "20s", "1s") }
  workload "d" { driver = "stream"  producers = 1  workers = 1  arrivals = burst(0.5 * peak, 0.4 * peak, "2s", "1s") }
  workload "e" { driver = "stream"  producers = 1  workers = 1  arrivals = burst("1k/s", null, "2s", "1s") }
  workload "f" { driver = "stream"  producers = 1  workers = 1  arrivals = bursts("1k/s", "2k/s", "2s", "1s") }
  workload "g" { driver = "stream"  producers = 1  workers = 1  arrivals = none() }
  workload "h" { driver = "stream"  producers = 1  workers = 1  arrivals = rate(peak, peak) }
  workload "i" { driver = "stream"  producers = 1  workers = 1 }
}
