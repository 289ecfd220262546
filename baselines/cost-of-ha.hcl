# Limits of scenarios/cost-of-ha.hcl. The costs are ratios of rounds of the same turn, so they do
# not depend on the machine.

baseline "cost-of-ha" {
  configuration = "18a0dec6aad5"

  floor "cycles_per_s" {
    min      = 10000
    observed = 218900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "for each point: far below the rate of two shared cores"
  }

  ceiling "rate_cost" {
    max      = 6
    observed = 2.445
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "twice the maximum cost of three nodes: at durability sync one disk serves the fsyncs of all of them"
  }

  ceiling "rate_cost" {
    point    = "kind=raft(3), durability=none"
    max      = 3
    observed = 2.106
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes do three times the work of one on the same cores"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 1355
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
