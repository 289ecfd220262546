# What the number of tenants costs: the same load of one shard, spread over 1 to 1,000 tenants with a queue each.

scenario "tenants" {
  title = "The same load spread over 1 to 1,000 tenants on one shard"
  tags  = ["single-node", "isolation"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # tenants is swept.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 1000
    workers     = 1000
    batch       = 4
    in_flight   = 16384
    payload     = fixed(64)
  }

  rounds = 6

  sweep "workload.main.tenants" { values = [1, 20, 100, 1000] }
}
