# Delays that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  delay = "1s" }
  workload "b" { driver = "stream"  producers = 1  workers = 1  delay = share(1, 0.1) }
  workload "c" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", 1.5) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", "10%") }
  workload "e" { driver = "stream"  producers = 1  workers = 1  delay = share("1500us", 0.1) }
  workload "f" { driver = "stream"  producers = 1  workers = 1  delay = share("31s", 0.1) }
  workload "g" { driver = "stream"  producers = 1  workers = 1  delay = share("20s", 0.1) }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  delay = share("1s", 0.1) }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  delay = share("1s", 0.1) }
}

scenario "ordered" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", 0.1) }
  invariant "ordered" {}
}

scenario "backlog" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", 0.1) }
  backlog { tasks = 1000 }
}

scenario "soak" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", 0.1) }
  soak { for = "1h" }
}

scenario "remote" {
  topology "remote" {
    durability = "none"
    node "n1" { address = "127.0.0.1:7070"  admin = "127.0.0.1:7071" }
  }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  delay = share("1s", 0.1) }
}
