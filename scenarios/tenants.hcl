# What the number of tenants costs: the same load of one shard, spread over 1 to 1,000 tenants with a queue each.

scenario "tenants" {
  title = "The same load spread over 1 to 1,000 tenants on one shard"
  tags  = ["single-node", "isolation", "core"]

  references = ["bare"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # tenants is swept. Each has a session for its producer and one for its worker, and a server takes 1,024 sessions on a connection.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 4
    producers   = 1000
    workers     = 1000
    batch       = 4
    in_flight   = 16384
    payload     = fixed(64)
  }

  rounds = 6

  # Each session more costs the generator as well, which has one CPU. The page says where it is the limit: the server's CPU per cycle and the
  # fairness between tenants are what this scenario is for.
  validity { generator_cpu_percent_max = "any" }

  sweep "workload.main.tenants" { values = [1, 20, 100, 1000] }
}
