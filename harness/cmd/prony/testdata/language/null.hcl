# prony explain FILE
# The generator alone.
scenario "null" {
  topology "none" {}
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
    arrivals  = ramp("1k/s", "3k/s", "10s")
  }
  phases { warmup = "0s"  window = "20s" }
  rounds = 8
}
