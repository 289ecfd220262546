# Extensions that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  extend = 1.5 }
  workload "b" { driver = "stream"  producers = 1  workers = 1  extend = "10%" }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  extend = 0.1 }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  extend = 0.1 }
}

scenario "enqueues-alone" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 0  in_flight = 1000  extend = 0.1 }
}

scenario "soak" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  extend = 0.1 }
  soak { for = "1h" }
}
