# Think times and queues of workers that can't be had.
scenario "queues" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 4  queues = 4  queue_per_worker = true }
  workload "b" { driver = "stream"  producers = 1  workers = 5  tenants = 2  queue_per_worker = true }
  workload "c" { driver = "stream"  producers = 1  workers = 20000  connections = 64  queue_per_worker = true }
  workload "d" { driver = "stream"  producers = 1  workers = 4  queue_per_worker = 1 }
}

scenario "nobody" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "stream"  producers = 1  workers = 0  in_flight = 100  queue_per_worker = true  think = fixed("1ms") }
}

scenario "scripted" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "main" { driver = "k6"  script = "../k6/plan.js"  producers = 1  workers = 4  queue_per_worker = true  think = fixed("1ms") }
}

scenario "thinks" {
  topology "single" { durability = "none" }
  phases { window = "5s" }
  workload "a" { driver = "stream"  producers = 1  workers = 4  think = "1ms" }
  workload "b" { driver = "stream"  producers = 1  workers = 4  think = fixed(1) }
  workload "c" { driver = "stream"  producers = 1  workers = 4  think = uniform("2ms", "1ms") }
  workload "d" { driver = "stream"  producers = 1  workers = 4  think = exponential("5s") }
  workload "e" { driver = "stream"  producers = 1  workers = 4  think = normal("5s") }
  workload "f" { driver = "stream"  producers = 1  workers = 4  think = fixed("1us") }
}
