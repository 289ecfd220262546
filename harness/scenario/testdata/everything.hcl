scenario "everything" {
  title           = "All attributes, none at its default"
  tags            = ["one", "two-2"]
  rounds          = 3
  profiled_rounds = 2
  topology "single" {
    shards        = 1
    durability    = "interval"
    sync_interval = "25ms"
    listen        = "unix"
    procs         = 1
    busy_poll     = true
  }
  workload "load-1" {
    driver      = "stream"
    procs       = 1
    busy_poll   = true
    connections = 2
    tenants     = 4
    queues      = 8
    producers   = 100000
    workers     = 5
    batch       = 3
    payload     = uniform(32, "1MiB")
    arrivals    = closed()
    lease       = "1m30s"
  }
  phases {
    warmup     = "0s"
    warmup_max = "4s"
    window     = "1500ms"
    drain      = "1m"
  }
  capture "cpu" {}
  capture "mutex" { rate = 1 }
  capture "block" { rate = "1us" }
  capture "allocs" {}
  capture "goroutine" {}
  capture "trace" { cycle_latency_ms = 250 }
  invariant "conserved" {}
  validity {
    on_breach                   = "warn"
    steal_percent_max           = "any"
    foreign_cpu_percent_max     = 25
    pressure_cpu_percent_max    = 90
    pressure_memory_percent_max = 0
    throttled_percent_max       = 2.5
    clock_step_ms_max           = 3
    frequency_drop_percent_max  = "any"
    trend_percent_max           = 20
    slip_ms_p99_max             = 5
    generator_cpu_percent_max   = 80
    backlog_growth_percent_max  = 250
  }
}

# The same language with several attributes on a line.
scenario "second" {
  topology "single" { shards = 1  durability = "interval" }
  workload "main" {
    driver = "stream"  producers = 1  workers = 1
    payload = fixed("4KiB")
  }
  phases { warmup = "2s"  window = "10s"  drain = "30s" } # one line
  rounds = 2
  capture "mutex" {}
  capture "block" {}
}
