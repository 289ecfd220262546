# Limits of scenarios/admin-load.hcl.

baseline "admin-load" {
  configuration = "14f220d76250"

  floor "cycles_per_s" {
    min      = 400
    observed = 500
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "four fifths of the rate of 500/s: below that, the server starves the tenant"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 5.538
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of a second means a queue behind the other tenant's calls instead of a share of the server"
  }

  ceiling "shard_turns_above_2ms_ratio" {
    max      = 0.01
    observed = 0.0002484
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the work of a turn does not take longer; wall-clock time also includes the CPU time of other processes and the garbage collector"
  }

  ceiling "shard_turn_ms_max" {
    max      = 128
    observed = 8
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a turn that blocks a shard for longer is unbounded work, and not another process that had the CPU"
  }

  ceiling "shard_turn_items_max" {
    max      = 6096
    observed = 1574
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a turn handles at most about 1,024 items of each kind of work, and one call of 1,000 items beyond that"
  }
}
