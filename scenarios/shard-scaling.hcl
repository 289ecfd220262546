# What more shards in one process give and cost. Each shard has a deciding goroutine and a commit stream of its own, so
# they can use as many cores as the host has; on a host with two, which the generator shares, it shows what they cost.

scenario "shard-scaling" {
  title = "Create, claim and complete in batches of 64, one process with 1 to 8 shards"
  tags  = ["single-node", "core"]

  references = ["bare"]

  # shards is swept. Neither side is held to a number of CPUs: more shards are for more of them.
  topology "sharded" {
    durability = "none"
    listen     = "tcp"
  }

  workload "main" {
    driver      = "stream"
    connections = 4
    queues      = 8
    producers   = 64
    workers     = 128
    batch       = 64
    in_flight   = 32768
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # The rounds of each point. The points alternate, so that a host that drifts does so for all of them.
  rounds = 5

  sweep "topology.shards" { values = [1, 2, 4, 8] }

  invariant "conserved" {}
}
