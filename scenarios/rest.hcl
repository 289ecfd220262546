# unary.hcl over REST with JSON: what a client gets that has no more than an HTTP library. Each goroutine has a connection
# of its own, which is kept.

scenario "rest" {
  title = "Create, claim and complete with REST requests, one task each, on kept connections"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # A producer makes one call for each task, a worker two: a claim, which waits at the server for a task, and a
  # completion. So there are twice as many of them.
  workload "main" {
    driver      = "rest"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 64
    batch       = 1
    in_flight   = 1024
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 6

  capture "cpu" {}
  capture "mutex" {}
  capture "allocs" {}

  invariant "conserved" {}
}
