# What each way to call the server costs, in one run: streams, unary gRPC and REST, in batches of 64 and one task a call, with one shard and with
# four. The points alternate, so that a host that drifts does so for all of them. Each way is compared with streams at the same batch and shards.

scenario "transports" {
  title = "Create, claim and complete over streams, unary gRPC and REST, in batches and one by one, with one and four shards"
  tags  = ["single-node", "core"]

  references = ["bare"]

  include "shared/sweep.hcl" {}

  # shards is swept.
  topology "sharded" {
    shards     = 1
    durability = "none"
    procs      = 1
  }

  # driver, batch and in_flight are swept. A producer makes one call for each batch, a worker two by unary gRPC or REST: so there are twice as many workers.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    queues      = 8
    producers   = 32
    workers     = 64
    batch       = 64
    in_flight   = 4096
    payload     = fixed(64)
  }

  rounds = 6

  # The generator's CPU is no reason to leave a point out: a call of REST costs the generator more than the server. The page says where the
  # generator is the limit.
  validity { generator_cpu_percent_max = "any" }

  sweep "workload.main.driver" { values = ["stream", "unary", "rest"] }

  # Each has 64 calls in flight at most: without that bound the claims of one-task calls, spread over four shards, fall behind the enqueues.
  zip {
    sweep "workload.main.batch" { values = [64, 1] }
    sweep "workload.main.in_flight" { values = [4096, 64] }
  }

  sweep "topology.shards" { values = [1, 4] }
}
