# Limits of scenarios/raft-full-cycle-sync.hcl. They are tripwires for two cores that three nodes
# and the generator share. The entries per cycle hardly depend on the machine.

baseline "raft-full-cycle-sync" {
  configuration = "cc877fc9747f"

  floor "cycles_per_s" {
    min      = 10000
    observed = 235700
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a disk with slow fsync reaches this rate with thousands of tasks in a commit"
  }

  ceiling "raft_entries_per_cycle" {
    max      = 0.1
    observed = 0.003569
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three commands are for 64 cycles: 0.05 entries per cycle even if every command had a separate entry"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 2.3
    observed = 1.009
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a leader makes the same decisions as a single process: this does not depend on the machine"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a queue that is drained as fast as it fills is served from memory: nothing is read back"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 1341
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
