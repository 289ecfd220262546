# Limits of scenarios/raft-coalescing.hcl. They are tripwires like those of raft-full-cycle.hcl.

baseline "raft-coalescing" {
  configuration = "939f93f14b72"

  floor "cycles_per_s" {
    min      = 500
    observed = 9378
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "one entry for each command is slow, which this comparison shows"
  }

  ceiling "raft_entries_per_cycle" {
    point    = "coalesce=true"
    max      = 0.5
    observed = 0.04664
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a cycle has three commands, each of which shares its entry with many others when hundreds are in flight"
  }

  ceiling "raft_entries_per_cycle" {
    point    = "coalesce=false"
    max      = 4
    observed = 1.547
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a cycle has three commands, each in a separate entry, and there are a few entries that advance the time"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 550.1
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
