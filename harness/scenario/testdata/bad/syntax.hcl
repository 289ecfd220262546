# Errors of syntax do not hide each other, nor other errors.
scenario "syntax" {
  rounds = 
  title  = "not closed
  topology "single" {
    durability = "none"
    shards     = = 1
  }
  workload "main" {
    driver    = "stream"
    producers = 1 2
    wrokers   = 4
    batch : 3
  }
  phases {
    window = "5s"
    'drain' = "1s"
  }
}
