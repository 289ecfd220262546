# Only what has no default.
scenario "defaults" {
  topology "single" {
    durability = "sync"
  }
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
  }
  phases {
    window = "5s"
  }
}
