# Completions that cannot travel with a claim.
scenario "streams" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    arrivals  = closed()
    combined  = true
  }
  phases { window = "5s" }
}

scenario "in-process" {
  topology "embedded" { durability = "none" }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
    arrivals  = closed()
    combined  = true
  }
  phases { window = "5s" }
}

scenario "no-room" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 8
    batch     = 4
    in_flight = 32
    arrivals  = closed()
    combined  = true
  }
  phases { window = "5s" }
}
