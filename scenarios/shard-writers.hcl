# Whether shards pay without more load: two shards of one process with two producers against one shard with the same two. A producer's batch
# goes to one shard, so with two shards each has about one producer at a time, and each commit has half as many tasks to share its cost.

scenario "shard-writers" {
  title = "Two producers on one shard and on two, one task a call and in batches of 64"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  # shards is swept. Neither side is held to a number of CPUs: a second shard is for a second one.
  topology "sharded" {
    shards     = 1
    durability = "none"
  }

  workload "main" {
    driver      = "stream"
    connections = 2
    queues      = 2
    producers   = 2
    workers     = 4
    batch       = 1
    in_flight   = 6
    payload     = fixed(64)
  }

  rounds = 6

  # As many tasks are under way as producers and workers hold: without that bound the workers of two shards, which claim from both, fall behind.
  zip {
    sweep "workload.main.batch" { values = [1, 64] }
    sweep "workload.main.in_flight" { values = [6, 384] }
  }

  sweep "topology.shards" { values = [1, 2] }
}
