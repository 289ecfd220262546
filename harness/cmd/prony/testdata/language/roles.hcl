# prony explain FILE
# Workloads of one role.
scenario "enqueues" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 0
    in_flight = 1000000
  }
  phases { window = "10s" }
}

scenario "batches" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver         = "stream"
    producers      = 16
    workers        = 16
    batch          = 8
    producer_batch = 64
    in_flight      = 1024
  }
  phases { window = "10s" }
}

scenario "claims" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 16
  }
  backlog { tasks = 500000 }
  phases { window = "10s" }
  capture "cpu" {}
}
