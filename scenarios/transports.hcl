# The cost of each way to call the server, in one run: streams, unary gRPC and REST, in batches of
# 64 and one task a call, with one shard and with four. The points alternate, so that drift of the
# host affects all points equally. Each way is compared with streams at the same batch size and
# number of shards.

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

  # driver, batch and in_flight are swept. A producer makes one call per batch; a worker makes two
  # with unary gRPC or REST. So there are twice as many workers as producers.
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

  # The generator's CPU limit does not invalidate a point: a REST call costs the generator more than
  # the server. The page shows where the generator is the limit.
  validity { generator_cpu_percent_max = "any" }

  sweep "workload.main.driver" { values = ["stream", "unary", "rest"] }

  # Each point has at most 64 calls in flight: without that bound the claims of one-task calls,
  # spread over four shards, fall behind the enqueues.
  zip {
    sweep "workload.main.batch" { values = [64, 1] }
    sweep "workload.main.in_flight" { values = [4096, 64] }
  }

  sweep "topology.shards" { values = [1, 4] }
}
