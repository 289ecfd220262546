# Values of a wrong type.
scenario "types" {
  title  = 3
  tags   = "smoke"
  rounds = "7"
  topology "single" {
    shards     = true
    durability = none
    listen     = ["tcp"]
    busy_poll  = "yes"
  }
  workload "main" {
    driver    = null
    producers = fixed(32)
    workers   = 4 * 8
    batch     = "many"
    queues    = { a = 1 }
    payload   = 64
    arrivals  = "closed"
    lease     = "${30}s"
  }
  phases {
    window = true
  }
}

scenario "arguments" {
  tags = ["a", 1]
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = uniform(64)
    arrivals  = closed(1)
  }
  phases {
    window = "5s"
  }
}

scenario "mixed-up" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(true)
    arrivals  = fixed(64)
  }
  phases {
    window = "5s"
  }
}
