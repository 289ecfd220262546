# What each way to call the server costs, in one run: streams, unary gRPC and REST, in batches of 64 and one task a call, with one shard and with
# four. The points alternate, so that a host that drifts does so for all of them. Each way is compared with streams at the same batch and shards.

scenario "transports" {
  title = "Create, claim and complete over streams, unary gRPC and REST, in batches and one by one, with one and four shards"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  # shards is swept.
  topology "sharded" {
    shards     = 1
    durability = "none"
    procs      = 1
  }

  # driver and batch are swept. A producer makes one call for each batch, a worker two by unary gRPC or REST: so there are twice as many workers.
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

  sweep "workload.main.driver" { values = ["stream", "unary", "rest"] }
  sweep "workload.main.batch" { values = [64, 1] }
  sweep "topology.shards" { values = [1, 4] }
}
