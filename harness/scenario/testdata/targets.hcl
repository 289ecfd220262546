# Servers that a driver program launches.
scenario "started" {
  target "redis-stream" {
    guarantee = "fsync"
    settings {
      maxmemory     = "1gb"
      hz            = 10
    }
  }
  workload "main" {
    driver    = "program"
    producers = 2
    workers   = 2
  }
  phases { window = "10s" }
  fault "kill" {
    target        = all()
    at            = "3s"
    restart_after = "1s"
  }
}

scenario "attached" {
  target "mine" {
    guarantee = "majority"
    address   = ["10.0.0.1:7070", "b.example.org:7070"]
    program   = "bin/my-driver"
  }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "swept" {
  target "redis" { guarantee = "os" }
  workload "main" {
    driver    = "program"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  zip {
    sweep "target.name"      { values = ["redis", "nats", "nats"] }
    sweep "target.guarantee" { values = ["os", "fsync", "majority"] }
    sweep "target.nodes"     { values = [1, 1, 3] }
  }
  sweep "workload.main.batch" { values = [1, 64] }
}
