# Limits of scenarios/raft-full-cycle.hcl. They are tripwires for two cores that three nodes and the
# generator share. The entries per cycle hardly depend on the machine.

baseline "raft-full-cycle" {
  configuration = "18dfe366bb6d"

  floor "cycles_per_s" {
    min      = 15000
    observed = 92670
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below the rate of two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "raft_entries_per_cycle" {
    max      = 0.5
    observed = 0.01064
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a cycle has three commands, each of which shares its entry with many others when hundreds are in flight"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 2000
    observed = 20.97
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at the floor, 1,024 tasks in flight take less than a tenth of a second: much more is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 708.8
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
