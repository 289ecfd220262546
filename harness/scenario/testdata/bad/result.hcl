# Results that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  result = "1KiB" }
  workload "b" { driver = "stream"  producers = 1  workers = 1  result = share(31, 0.1) }
  workload "c" { driver = "stream"  producers = 1  workers = 1  result = share("257KiB", 0.1) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  result = share("1KiB", 2) }
  workload "e" { driver = "stream"  producers = 1  workers = 1  result = share(0.5, 0.1) }
  workload "f" { driver = "unary"  producers = 1  workers = 1  combined = true  result = share("1KiB", 0.1) }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  result = share("1KiB", 0.1) }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  result = share("1KiB", 0.1) }
}

scenario "enqueues-alone" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 0  in_flight = 1000  result = share("1KiB", 0.1) }
}

scenario "soak" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  result = share("1KiB", 0.1) }
  soak { for = "1h" }
}

scenario "attached" {
  topology "remote" {
    durability = "none"
    node "n1" { address = "127.0.0.1:7070"  admin = "127.0.0.1:7071" }
  }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  result = share("1KiB", 0.1) }
}
