# prony explain FILE
# A window of a number of tasks.
scenario "volume" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 16
    in_flight = 64
  }
  phases {
    tasks  = 500000
    window = "2m"
  }
}
