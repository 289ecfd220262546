# unary.hcl with two calls for each task instead of three: a worker's completion travels with its next claim.

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

  # A producer makes one call for each task, and so does a worker: a claim, which carries the completion of the last task and waits at
  # the server for the next one. As many workers as in unary.hcl, so that the two compare.
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
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "allocs" {}

  invariant "conserved" {}
}
