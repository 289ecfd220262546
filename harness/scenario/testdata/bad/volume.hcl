# Windows of a number of tasks that can't be had.
scenario "due" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    arrivals  = rate("1k/s")
  }
  phases {
    window = "5s"
    tasks  = 1000
  }
  series { every = "500ms" }
}

scenario "several" {
  topology "raft" { durability = "none" }
  workload "one" { driver = "stream"  producers = 1  workers = 1 }
  workload "two" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "5s"  tasks = 1000 }
  fault "kill" { target = leader()  at = "1s" }
}

scenario "no-room" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 0  in_flight = 1000 }
  phases { window = "5s"  tasks = 1000 }
}

scenario "no-tasks" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 0  workers = 1 }
  phases { window = "5s"  tasks = 1000 }
  backlog { tasks = 1000 }
}

scenario "none" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "5s"  tasks = 0 }
}

scenario "scripted" {
  topology "single" { durability = "none" }
  workload "main" { driver = "k6"  script = "../k6/plan.js"  producers = 1  workers = 1 }
  phases { window = "5s"  tasks = 1000 }
}

scenario "endless" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "5s"  tasks = 1000 }
  soak { for = "1h" }
}
