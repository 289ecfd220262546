# Arrivals, backlogs and series that make no sense.
scenario "rates" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 100000
    batch     = 2
    arrivals  = rate(50)
    in_flight = 3
  }
  phases { window = "5s" }
  series { every = "1s" }
  backlog {
    tasks     = 0
    restart   = "kil"
    reference = 10
    fill      = "0s"
  }
}

scenario "units" {
  topology "sharded" { durability = "none" }
  workload "main" {
    driver    = "unary"
    producers = 1
    workers   = 1
    arrivals  = rate("50k")
  }
  phases { window = "5s" }
  series { every = "1ms" }
}

scenario "peak" {
  topology "sharded" {
    durability = "none"
    shards     = 0
  }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    arrivals  = rate(11 * peak)
  }
  phases { window = "1m" }
  series { every = "1s" }
  series {}
}

scenario "slow" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    arrivals  = rate("0.5/s")
  }
  phases { window = "24h" }
  series { every = "100ms" }
}

scenario "operators" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    arrivals  = rate(peak * peak)
    batch     = 2 * peak
  }
  phases { window = "5s" }
}

scenario "sums" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    arrivals  = rate(0.5 + peak)
  }
  phases { window = "5s" }
}

scenario "one-call" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    batch     = 64
    in_flight = 63
  }
  phases { window = "5s" }
}

scenario "busy-poll" {
  topology "single" {
    durability = "none"
    busy_poll  = true
  }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    procs     = 1
    busy_poll = true
  }
  phases { window = "5s" }
}

scenario "nothing" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    arrivals  = none()
    in_flight = 1
  }
  phases { window = "5s" }
  backlog { tasks = 1  reference = 1 }
}

scenario "nothing-to-forget" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "5s" }
  backlog {
    tasks      = 10
    cold_cache = true
  }
}
