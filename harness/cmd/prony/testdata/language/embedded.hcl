# prony explain FILE
scenario "embedded" {
  topology "embedded" { durability = "interval"  shards = 2 }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
    arrivals  = burst(0.1 * peak, 2 * peak / 4, "2s", "500ms")
  }
  phases { window = "20s" }
}
