# Batches: each call of a producer enqueues a final task and its 15 members, which are spread over the
# shards. The server must deliver the final task only after all of its members are completed. The
# ledger checks this at each delivery, and that each task is completed exactly once.

scenario "batch" {
  title = "Batches of 15 tasks with a final task, which waits for them"
  tags  = ["single-node", "jobs"]

  topology "sharded" {
    shards     = 4
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver         = "stream"
    procs          = 1
    producers      = 16
    workers        = 64
    producer_batch = 16
    worker_batch   = 4
    in_flight      = 4096
    queues         = 4
    payload        = fixed(64)
    final_tasks    = true
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
  invariant "exclusive" {}
}
