# Scripts that are not there, and what the driver "k6" does not have.
scenario "no-script" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}

scenario "missing-script" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "k6/paln.js"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}

scenario "folder" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "../k6"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}

scenario "absolute" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "/tmp/plan.js"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}

scenario "of-another-driver" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    script    = "../k6/plan.js"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}

scenario "of-others" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver      = "k6"
    script      = "../k6/plan.js"
    procs       = 1
    connections = 2
    busy_poll   = true
    idempotent  = true
    seed        = 3
    queues      = 4
    keys        = uniform()
    payload     = uniform(64, 128)
    producers   = 1
    workers     = 1
    arrivals    = rate(0.5 * peak)
  }
  phases {
    window     = "5s"
    warmup_max = "5s"
  }
  backlog { tasks = 10 }
  series { every = "100ms" }
  capture "trace" { cycle_latency_ms = 100 }
  invariant "ordered" {}
  invariant "exclusive" {}
  fault "kill" {
    target = leader()
    at     = "1s"
  }
}

scenario "without-servers" {
  topology "embedded" { durability = "none" }
  workload "main" {
    driver   = "k6"
    script   = "../k6/plan.js"
    workers  = 1
    arrivals = none()
  }
  phases { window = "1s" }
}

scenario "several" {
  topology "single" { durability = "none" }
  workload "one" {
    driver    = "k6"
    script    = "../k6/plan.js"
    producers = 1
    workers   = 1
    in_flight = 8
  }
  workload "two" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}
