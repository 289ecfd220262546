# Whether more shards pay without more load: two producers on two shards of one process against the
# same two producers on one shard. A producer's batch goes to one shard. So with two shards, each
# has about one producer at a time, and each commit has half as many tasks to share its cost.

scenario "shard-writers" {
  title = "Two producers on one shard and on two, one task a call and in batches of 64"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  # shards is swept. The CPUs of both sides are not limited, because a second shard uses a second
  # CPU.
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

  # At most as many tasks are in flight as producers and workers hold. Without that bound the
  # workers, which claim from both shards, fall behind.
  zip {
    sweep "workload.main.batch" { values = [1, 64] }
    sweep "workload.main.in_flight" { values = [6, 384] }
  }

  sweep "topology.shards" { values = [1, 2] }
}
