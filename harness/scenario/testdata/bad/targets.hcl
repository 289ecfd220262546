# Mistakes with the servers of a driver program.
scenario "both" {
  topology "single" { durability = "sync" }
  target "redis" { guarantee = "fsync" }
  target "nats" { guarantee = "fsync" }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "attributes" {
  target "Redis 7" {
    guarantee = "sync"
    nodes     = 9
    programm  = "x"
    settings {
      save { x = 1 }
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "addresses" {
  target "redis" {
    nodes   = 3
    address = ["10.0.0.1", "10.0.0.2:6379"]
    settings { maxmemory = [1] }
  }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  fault "kill" { target = all()  at = "2s" }
  fault "pause" { target = all()  at = "5s"  for = "1s" }
  fault "kill" { target = leader()  at = "8s" }
}

scenario "parts" {
  target "redis" { guarantee = "os" }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 2
    priority  = uniform(0, 3)
    delay     = "1ms"
    busy_poll = true
    procs     = 1
    extend    = 0.5
    key       = 0.5
  }
  workload "alone" {
    driver    = "program"
    producers = 1
    workers   = 0
    procs     = 1
  }
  phases { window = "10s" }
  capture "cpu" {}
  series { every = "1s" }
  observe { scrape = "1s" }
  invariant "conserved" {}
  invariant "exclusive" {}
}

scenario "no-target" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "target.name" { values = ["redis", "nats"] }
}

scenario "sweeps" {
  target "redis" { guarantee = "os" }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "target.name" { values = ["redis", "a b"] }
  sweep "target.address" { values = ["redis", "nats"] }
}
