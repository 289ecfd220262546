# Limits of scenarios/raft-coalescing.hcl, tripwires as those of raft-full-cycle.hcl.

baseline "raft-coalescing" {
  configuration = "939f93f14b72"

  floor "cycles_per_s" {
    min      = 500
    observed = 9378
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "an entry for each command is slow, which is what the comparison is for"
  }

  ceiling "raft_entries_per_cycle" {
    point    = "coalesce=true"
    max      = 0.5
    observed = 0.04664
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three commands of a cycle, each of which shares its entry with many others when hundreds are under way"
  }

  ceiling "raft_entries_per_cycle" {
    point    = "coalesce=false"
    max      = 4
    observed = 1.547
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three commands of a cycle, each an entry of its own, and what keeps time passing"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 550.1
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
