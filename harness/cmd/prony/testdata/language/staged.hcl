# prony explain FILE
# Rates that change in stages, and a pause.
scenario "staged" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 16
    arrivals  = stages("1k/s", ["4s", "5k/s"], ["2s", "5k/s"], ["0s", "0/s"], ["2s", "0/s"], ["0s", "1k/s"])
  }
  phases { window = "10s" }
}
scenario "staged-peak" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 16
    arrivals  = stages(0.1 * peak, ["5s", 0.8 * peak], ["5s", 0.1 * peak])
  }
  phases { window = "10s" }
}
