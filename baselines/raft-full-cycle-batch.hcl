# Limits of scenarios/raft-full-cycle-batch.hcl. They are tripwires for two cores that three nodes
# and the generator share. The entries per cycle hardly depend on the machine.

baseline "raft-full-cycle-batch" {
  configuration = "76dd3192a8f5"

  floor "cycles_per_s" {
    min      = 40000
    observed = 314600
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below the rate of two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "raft_entries_per_cycle" {
    max      = 0.1
    observed = 0.003431
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
    observed = 1348
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
