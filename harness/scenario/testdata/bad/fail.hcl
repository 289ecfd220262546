# Failures that cannot be.
scenario "values" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  fail = 1.5 }
  workload "b" { driver = "stream"  producers = 1  workers = 1  fail = 1 }
  workload "c" { driver = "stream"  producers = 1  workers = 1  fail = -0.1 }
  workload "d" { driver = "stream"  producers = 1  workers = 1  fail = "10%" }
  workload "e" { driver = "stream"  producers = 1  workers = 1  max_attempts = 5 }
  workload "f" { driver = "stream"  producers = 1  workers = 1  fail = 0.1  max_attempts = 0  backoff = "10us" }
  workload "g" { driver = "stream"  producers = 1  workers = 1  fail = 0.1  max_attempts = 20  backoff = "1s" }
}

scenario "null" {
  topology "none" {}
  phases { window = "5s" }
  workload "main" { driver = "null"  producers = 1  workers = 1  fail = 0.1 }
}

scenario "idle" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  arrivals = none()  fail = 0.1 }
}

scenario "enqueues-alone" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 0  in_flight = 1000  fail = 0.1 }
}

scenario "faults" {
  topology "raft" {
    durability = "none"
    nodes      = 3
  }
  phases { window = "60s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  fail = 0.1 }
  fault "kill" {
    target = leader()
    at     = "20s"
  }
}

scenario "backlog" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  fail = 0.1 }
  backlog { tasks = 1000  restart = "kill" }
}

scenario "soak" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  fail = 0.1 }
  soak { for = "1h" }
}

scenario "attached" {
  topology "remote" {
    durability = "none"
    node "n1" { address = "127.0.0.1:7070"  admin = "127.0.0.1:7071" }
  }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  fail = 0.1 }
}
