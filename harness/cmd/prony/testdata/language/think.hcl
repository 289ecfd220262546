# prony explain FILE
# Workers that think, and have queues of their own.
scenario "think" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver           = "stream"
    tenants          = 2
    producers        = 16
    workers          = 32
    queue_per_worker = true
    think            = exponential("2ms")
    in_flight        = 256
  }
  phases { window = "10s" }
}
