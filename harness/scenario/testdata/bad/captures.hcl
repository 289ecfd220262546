# Profiles and traces that are not asked for as they should be.
scenario "nothing-captured" {
  profiled_rounds = 2
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "2s" }
}
scenario "captures" {
  profiled_rounds = 0
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "2s" }
  capture "trace" {}
  capture "cpu" { cycle_latency_ms = 5 }
  capture "trace" {
    cycle_latency_ms = 0
    rate             = 1
  }
}
