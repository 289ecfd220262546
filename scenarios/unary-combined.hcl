# unary.hcl with two calls per task instead of three: a worker sends its completion with its next
# claim.

scenario "unary-combined" {
  title = "Create, claim and complete with two unary gRPC calls, one task each"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
    busy_poll  = true
  }

  # A producer makes one call per task. So does a worker: a claim, which also completes the last
  # task and waits at the server for the next one. There are as many workers as in unary.hcl, so
  # that the two can be compared.
  workload "main" {
    driver      = "unary"
    procs       = 1
    busy_poll   = true
    combined    = true
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

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "allocs" {}

  invariant "conserved" {}
}
