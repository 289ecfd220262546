# Shares of reads that cannot be.
scenario "all" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = 1
  }
  workload "less-than-none" {
    driver    = "unary"
    producers = 1
    workers   = 1
    reads     = -0.1
  }
  workload "text" {
    driver    = "rest"
    producers = 1
    workers   = 1
    reads     = "0.2"
  }
  phases { window = "5s" }
}

scenario "in-process" {
  topology "embedded" { durability = "none" }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
    reads     = 0.2
  }
  phases { window = "5s" }
}

scenario "null" {
  topology "none" {}
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
    reads     = 0.2
  }
  phases { window = "5s" }
}

scenario "idle" {
  topology "single" { durability = "none" }
  workload "main" {
    driver   = "stream"
    arrivals = none()
    reads    = 0.2
  }
  phases { window = "5s" }
}

scenario "many" {
  topology "single" { durability = "none" }
  workload "some" {
    driver    = "stream"
    tenants   = 60
    producers = 60
    workers   = 60
    reads     = 0.2
  }
  workload "unread" {
    driver    = "stream"
    tenants   = 60
    producers = 60
    workers   = 60
  }
  workload "more" {
    driver    = "stream"
    tenants   = 41
    producers = 41
    workers   = 41
    reads     = 0.2
  }
  phases { window = "5s" }
}

scenario "kinds" {
  topology "single" { durability = "none" }
  workload "twice" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = [get(0.1), list(0.1), get(0.2)]
  }
  workload "unknown" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = [lists(0.1)]
  }
  workload "too-much" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = [get(0.5), await(0.5)]
  }
  workload "nothing" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = []
  }
  workload "none-of-it" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = stats(0)
  }
  workload "words" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = await("often")
  }
  workload "mixed" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = [0.2, list(0.1)]
  }
  phases { window = "5s" }
}

scenario "by-kind-in-process" {
  topology "embedded" { durability = "none" }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
    reads     = list(0.1)
  }
  phases { window = "5s" }
}
