# The gain and the cost of more shards in one process. Each shard has its own deciding goroutine and
# commit stream, so shards can use all cores of a host. On a host with two cores, which the
# generator shares, this scenario shows their cost.

scenario "shard-scaling" {
  title = "Create, claim and complete in batches of 64, one process with 1 to 8 shards"
  tags  = ["single-node", "core"]

  references = ["bare"]

  # shards is swept. The CPUs of both sides are not limited, because more shards use more CPUs.
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
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # Rounds per point. The points alternate, so that drift of the host affects all points equally.
  rounds = 5

  sweep "topology.shards" { values = [1, 2, 4, 8] }

  invariant "conserved" {}
}
