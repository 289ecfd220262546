# Batches of one side that do not fit.
scenario "too-large" {
  topology "single" { durability = "none" }
  workload "main" {
    driver         = "stream"
    producers      = 1
    workers        = 2000
    producer_batch = 1001
    worker_batch   = 64
    payload        = fixed("64KiB")
  }
  phases { window = "5s" }
}

scenario "too-much" {
  topology "single" { durability = "none" }
  workload "main" {
    driver         = "stream"
    producers      = 1
    workers        = 1
    batch          = 2
    producer_batch = 64
    worker_batch   = 65
    in_flight      = 63
    payload        = fixed("64KiB")
  }
  phases { window = "5s" }
}

scenario "no-side" {
  topology "single" { durability = "none" }
  workload "main" {
    driver       = "stream"
    producers    = 1
    workers      = 0
    worker_batch = 4
    in_flight    = 1000
  }
  phases { window = "5s" }
}

scenario "scripted" {
  topology "single" { durability = "none" }
  workload "main" {
    driver         = "k6"
    script         = "../k6/plan.js"
    producers      = 1
    workers        = 1
    producer_batch = 4
  }
  phases { window = "5s" }
}
