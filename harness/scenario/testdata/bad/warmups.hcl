scenario "short" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
  }
  phases {
    warmup     = "2s"
    warmup_max = "1s"
    window     = "1s"
  }
}

scenario "due" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
    arrivals  = rate("100/s")
    in_flight = 100
  }
  phases {
    warmup_max = "5s"
    window     = "1s"
  }
}

scenario "harmed" {
  topology "raft" {
    nodes      = 3
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
  }
  phases {
    warmup_max = "5s"
    window     = "20s"
  }
  fault "kill" {
    target        = leader()
    at            = "5s"
    restart_after = "3s"
  }
}
