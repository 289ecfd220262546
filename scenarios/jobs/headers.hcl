# Tasks with headers: a kind and seven others. The ledger checks at each delivery that they arrive as
# they were enqueued. A share of the deliveries fails, so that tasks that return to their queue are
# checked too.

scenario "headers" {
  title = "Create, claim and complete tasks with eight headers in batches of 16, one Pebble shard"
  tags  = ["single-node", "jobs"]

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    queues    = 4
    producers = 32
    workers   = 64
    batch     = 16
    in_flight = 8192
    payload   = fixed(64)
    headers   = 8
    fail      = 0.02
    backoff   = "10ms"
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 3

  invariant "conserved" {}
  invariant "isolated" {}
}
