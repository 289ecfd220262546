# prony validate FILE
# Mistakes with sizes, keys and seeds.
scenario "sizes" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  payload = lognormal(256, 64) }
  workload "b" { driver = "stream"  producers = 1  workers = 1  payload = lognormal(16, 64) }
  workload "c" { driver = "stream"  producers = 1  workers = 1  payload = lognormal(64) }
  workload "d" { driver = "stream"  producers = 1  workers = 1  payload = lognormal(64, "2MiB") }
  workload "e" { driver = "stream"  producers = 1  workers = 1  queues = 2  keys = zipf(0) }
  workload "f" { driver = "stream"  producers = 1  workers = 1  queues = 2  keys = zipf("1.2") }
  workload "g" { driver = "stream"  producers = 1  workers = 1  keys = uniform() }
  workload "h" { driver = "stream"  producers = 1  workers = 1  queues = 2  keys = uniform(1, 2)  seed = 0 }
}
scenario "more" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "a" { driver = "stream"  producers = 1  workers = 1  queues = 2  keys = zpf(1)  seed = 1.5 }
  workload "a" { driver = "stream"  producers = 1  workers = 1  tenants = 600 }
  workload "b" { driver = "stream"  producers = 1  workers = 1  tenants = 600  procs = 2 }
  workload "c" { driver = "stream"  producers = 1  workers = 1  payload = lognormal(64, "4KiB")  batch = 64 }
}
