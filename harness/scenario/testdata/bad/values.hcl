# Values out of range.
scenario "Not_A_Name" {
  title  = "  "
  tags   = ["Upper"]
  rounds = 1001
  topology "single" {
    shards        = 2
    durability    = "none"
    sync_interval = "10ms"
    listen        = "udp"
  }
  workload "main load" {
    driver      = "stream"
    connections = 1025
    tenants     = 0
    queues      = 10001
    producers   = -1
    workers     = 1e6
    batch       = 1.5
    payload     = fixed(31)
    lease       = "2h"
  }
  phases {
    warmup = "-1s"
    window = "1ms"
    drain  = "0s"
  }
  capture "mutex" { rate = 0 }
  capture "block" { rate = "2s" }
}

scenario "payloads" {
  topology "single" {
    durability = "interval"
    sync_interval = "1us"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = uniform(256, 64)
  }
  phases {
    window = "25h"
  }
}

scenario "too-large" {
  topology "single" {
    durability = "sync"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed("2MiB")
  }
  phases {
    window = "900ms"
  }
  capture "cpu" {}
}

scenario "large-calls" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    batch     = 64
    payload   = uniform("32KiB", "64KiB")
  }
  phases {
    window = "1s"
  }
}
