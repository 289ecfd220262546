# Limits of scenarios/raft-full-cycle.hcl, tripwires for two cores that three nodes and the generator share. The entries
# per cycle hardly depend on the machine.

baseline "raft-full-cycle" {
  configuration = "18dfe366bb6d"

  floor "cycles_per_s" {
    min      = 15000
    observed = 92670
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below what two shared cores do: trips on a break, not on a neighbour"
  }

  ceiling "raft_entries_per_cycle" {
    max      = 0.5
    observed = 0.01064
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three commands of a cycle, each of which shares its entry with many others when hundreds are under way"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 2000
    observed = 20.97
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "1,024 tasks in flight take less than a tenth of a second at the floor: much more is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 708.8
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
