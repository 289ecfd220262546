# Whole task cycles driven by a k6 script. The load generator is JavaScript and reaches its own
# limit before the server does. Sizes, batches and sessions come from this file; the script makes
# the calls.

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
    producers = 4 # with 8 producers the workers do not keep up, and a backlog grows
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
