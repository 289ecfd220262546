# Sessions that a server does not take on one connection.

scenario "many-tenants" {
  topology "single" { durability = "none" }

  workload "main" {
    driver      = "stream"
    connections = 1
    tenants     = 513
    producers   = 513
    workers     = 513
    payload     = fixed(64)
  }

  phases { window = "1s" }
}

scenario "queues-of-their-own" {
  topology "single" { durability = "none" }

  workload "main" {
    driver           = "stream"
    queue_per_worker = true
    producers        = 1
    workers          = 1024
    payload          = fixed(64)
  }

  phases { window = "1s" }
}

scenario "just-enough" {
  topology "single" { durability = "none" }

  workload "main" {
    driver      = "stream"
    connections = 2
    tenants     = 1000
    producers   = 1000
    workers     = 1000
    payload     = fixed(64)
  }

  phases { window = "1s" }
}

scenario "of-calls" {
  topology "single" { durability = "none" }

  workload "main" {
    driver    = "unary"
    tenants   = 1000
    producers = 1000
    workers   = 1000
    payload   = fixed(64)
  }

  phases { window = "1s" }
}
