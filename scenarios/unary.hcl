# The rate of a client without streams: three separate calls per task. rest.hcl is the same over
# REST.

scenario "unary" {
  title = "Create, claim and complete with unary gRPC calls, one task each"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
    busy_poll  = true
  }

  # A producer makes one call per task. A worker makes two: a claim, which waits at the server for a
  # task, and a completion. So there are twice as many workers as producers.
  workload "main" {
    driver      = "unary"
    procs       = 1
    busy_poll   = true
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
