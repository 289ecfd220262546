# Workloads of one role that lack something, or have something without a meaning.
scenario "nobody" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 0
  }
  phases { window = "5s" }
}

scenario "unbounded" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 0
  }
  phases { window = "5s" }
}

scenario "due" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 0
    in_flight = 1000
    arrivals  = rate("1k/s")
  }
  phases { window = "5s" }
}

scenario "due-by-nobody" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 8
    arrivals  = rate("1k/s")
  }
  phases { window = "5s" }
}

scenario "combines" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "unary"
    producers = 8
    workers   = 0
    in_flight = 1000
    combined  = true
  }
  phases { window = "5s" }
}

scenario "nothing-to-drain" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 0
    in_flight = 1000
  }
  phases { window = "5s" }
  backlog { tasks = 1000 }
  series { every = "500ms" }
  invariant "ordered" {}
}

scenario "nothing-to-claim" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 8
    in_flight = 1000
  }
  phases { window = "5s" }
}

scenario "after-the-window" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 8
    reads     = 0.5
  }
  phases { window = "5s" }
  backlog {
    tasks     = 1000
    reference = 10
    restart   = "kill"
    drain     = "5m"
    cold_cache = true
  }
}

scenario "not-alone" {
  topology "single" { durability = "none" }
  workload "one" {
    driver    = "stream"
    producers = 8
    workers   = 0
    in_flight = 1000
  }
  workload "other" {
    driver    = "stream"
    producers = 8
    workers   = 8
  }
  phases { window = "5s" }
}

scenario "scripted" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "../k6/plan.js"
    producers = 8
    workers   = 0
  }
  phases { window = "5s" }
}

scenario "endless" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 0
    in_flight = 1000
  }
  phases { window = "5s" }
  soak { for = "1h" }
}
