scenario "changed" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "one" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
}

scenario "carrier" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "one" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  limit "server_cpu_us_per_cycle" {
    max      = 20
    observed = 5
    on       = "2 cores"
    because  = "four times what it costs"
  }
}

scenario "unlimited" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "one" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
}
