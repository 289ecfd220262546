# Tasks with unique keys. Producers race for a thousand keys. A task holds its key until it is
# finished, and the server refuses another task with the key. The ledger checks that no two
# unfinished tasks have the same key. Refused tasks are no cycles.

scenario "unique" {
  title = "Producers that race for 1,000 unique keys, which tasks hold until they are finished"
  tags  = ["single-node", "jobs"]

  topology "sharded" {
    shards     = 2
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 64
    workers   = 64
    batch     = 16
    payload   = fixed(64)
    unique    = until_finished(1000)
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

  limit "cycles_per_s" {
    min     = 1000
    because = "if the server did not free the keys of finished tasks, it would soon refuse all tasks"
  }
}
