# The effect of the number of tenants: the same load on one shard, spread over 1 to 1,000 tenants
# with one queue each.

scenario "tenants" {
  title = "The same load spread over 1 to 1,000 tenants on one shard"
  tags  = ["single-node", "isolation", "core"]

  references = ["bare"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # tenants is swept. Each tenant has one session for its producer and one for its worker, and a
  # server takes 1,024 sessions on a connection.
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

  # Each additional session also costs CPU time in the generator, which has one CPU. The page shows
  # where the generator is the limit. This scenario is for the server's CPU time per cycle and the
  # fairness between tenants.
  validity { generator_cpu_percent_max = "any" }

  sweep "workload.main.tenants" { values = [1, 20, 100, 1000] }
}
