# Limits of scenarios/raft-full-cycle-sync.hcl, tripwires for two cores that three nodes and the generator share. The entries
# per cycle hardly depend on the machine.

baseline "raft-full-cycle-sync" {
  configuration = "cc877fc9747f"

  floor "cycles_per_s" {
    min      = 10000
    observed = 235700
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a disk with slow fsync carries this with thousands of tasks in a commit"
  }

  ceiling "raft_entries_per_cycle" {
    max      = 0.1
    observed = 0.003569
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three commands carry 64 cycles, which is 0.05 entries for each if every command had an entry of its own"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 2.3
    observed = 1.009
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "what a leader decides is what a single process does: this does not depend on the machine"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a queue that is worked off as fast as it fills is served from memory: nothing is read back"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 1341
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
