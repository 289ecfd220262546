# Whole task cycles that a k6 script drives: the load generator is JavaScript, and what it reaches is its own limit before it
# is the server's. Sizes, batches and sessions are those of this file; the calls are the script's.

scenario "k6" {
  title = "Create, claim and complete from a k6 script over gRPC streams, in batches of 16"
  tags  = ["single-node", "k6"]

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "k6"
    script    = "k6/plan.js"
    producers = 4 # with 8 the workers do not keep up, and a backlog grows
    workers   = 16
    batch     = 16
    payload   = fixed(64)
    arrivals  = closed()
  }

  phases {
    warmup = "1s"
    window = "5s"
    drain  = "30s"
  }

  rounds = 6

  capture "mutex" {}
  capture "block" {}
  capture "cpu" {}

  invariant "conserved" {}
  invariant "isolated" {}
}
