# Repeated keys that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  key = 1.5 }
  workload "b" { driver = "stream"  producers = 1  workers = 1  key = "10%" }
  workload "c" { driver = "stream"  producers = 1  workers = 1  key = 0.1  idempotent = true }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  key = 0.1 }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  key = 0.1 }
}

scenario "claims-alone" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 0  workers = 1  key = 0.1 }
  backlog { tasks = 1000 }
}

scenario "soak" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  key = 0.1 }
  soak { for = "1h" }
}
