scenario "too-often" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  observe {
    scrape   = "1ms"
    profiles = true
  }
  phases { window = "500ms" }
}

scenario "too-late" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  observe {
    scrape = "20s"
    logs   = true
  }
  phases { window = "10s" }
}

scenario "no-server" {
  topology "none" {}
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
  }
  observe { scrape = "1s" }
  phases { window = "10s" }
}

scenario "not-there" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  sweep "observe.scrape" { values = ["0s", "1s"] }
  phases { window = "10s" }
}

scenario "alike" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  zip {
    sweep "workload.main.producers" { values = [1, 2, 1] }
    sweep "workload.main.workers" { values = [8, 8, 8] }
  }
  phases { window = "10s" }
}

scenario "soaked" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  observe { scrape = "1s" }
  soak { for = "1h" }
  phases { window = "10s" }
}
