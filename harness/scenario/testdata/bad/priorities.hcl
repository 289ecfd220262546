# Priorities that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  priority = uniform(0, 10) }
  workload "b" { driver = "stream"  producers = 1  workers = 1  priority = uniform(5, 1) }
  workload "c" { driver = "stream"  producers = 1  workers = 1  priority = uniform(0.5, 9) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  priority = share("9", 0.1) }
  workload "e" { driver = "stream"  producers = 1  workers = 1  priority = share(9, 0) }
  workload "f" { driver = "stream"  producers = 1  workers = 1  priority = share(9, "10%") }
  workload "g" { driver = "stream"  producers = 1  workers = 1  priority = 9 }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  priority = share(9, 0.1) }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  priority = share(9, 0.1) }
}

scenario "ordered" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  priority = share(9, 0.1) }
  invariant "ordered" {}
}
