# TLS where it can't be.
scenario "socket" {
  topology "single" {
    durability = "none"
    listen     = "unix"
    tls        = true
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "inside" {
  topology "embedded" {
    durability = "none"
    tls        = true
  }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "polled" {
  topology "single" {
    durability = "none"
    procs      = 1
    busy_poll  = true
    tls        = true
  }
  workload "main" {
    driver    = "stream"
    procs     = 1
    busy_poll = true
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "default" {
  topology "single" {
    durability       = "none"
    tls              = true
    default_settings = true
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}
