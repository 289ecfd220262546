# Durations and sizes with a wrong unit or none.
scenario "units" {
  topology "single" {
    durability    = "interval"
    sync_interval = "10KiB"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    lease     = "half an hour"
    payload   = uniform("64", "4KB")
  }
  phases {
    warmup = 2
    window = "10"
    drain  = "30 s"
  }
  capture "mutex" { rate = "10us" }
  capture "block" { rate = 10 }
}
