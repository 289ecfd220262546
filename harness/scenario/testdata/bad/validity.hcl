scenario "limits" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
  }
  phases { window = "1s" }
  validity {
    on_breach               = "ignore"
    steal_percent_max       = "none"
    foreign_cpu_percent_max = 101
    clock_step_ms_max       = -1
    throttled_ms_max        = 5
    trend_percent_max       = null
  }
}

scenario "twice" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
  }
  phases { window = "1s" }
  validity {}
  validity { steal_percent_max = 5 }
}
