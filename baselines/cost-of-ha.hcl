# Limits of scenarios/cost-of-ha.hcl. The costs are ratios of rounds of the same turn, so that they hold on any machine.

baseline "cost-of-ha" {
  configuration = "18a0dec6aad5"

  floor "cycles_per_s" {
    min      = 10000
    observed = 218900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "each point by itself: far below what two shared cores do"
  }

  ceiling "rate_cost" {
    max      = 6
    observed = 2.445
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "twice what three nodes may cost at most: at durability sync one disk takes the fsyncs of all of them"
  }

  ceiling "rate_cost" {
    point    = "kind=raft(3), durability=none"
    max      = 3
    observed = 2.106
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes do three times the work of one on the same cores, and share what decides"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 1355
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
