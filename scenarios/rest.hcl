# unary.hcl over REST with JSON: the rate of a client that has only an HTTP library. Each goroutine
# keeps its own connection.

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

  # A producer makes one call per task. A worker makes two: a claim, which waits at the server for a
  # task, and a completion. So there are twice as many workers as producers.
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
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 6

  capture "cpu" {}
  capture "mutex" {}
  capture "allocs" {}

  invariant "conserved" {}
}
