# Limits of scenarios/steady.hcl. They are tripwires for decay and for a data folder that grows with
# the tasks completed.

baseline "steady" {
  configuration = "d38ce64b0d9b"

  ceiling "decay_percent" {
    max      = 2
    observed = 0
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "the rate holds for ten minutes: one run of ten minutes excludes a loss of 2 % or more"
  }

  floor "steady_rate_ratio" {
    min      = 0.5
    observed = 1.204
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "the last minute is like the second: half of that rate is decay, because a busy neighbour does not stay for ten minutes"
  }

  ceiling "disk_mb_max" {
    max      = 4096
    observed = 713.2
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "completed tasks are removed: ten minutes of them would be tens of gigabytes"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 2.3
    observed = 0.0106
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "a fresh task is set once, and its share of a batch's lease, queue record and commit is small: this does not depend on the machine"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "a queue that is drained as fast as it fills is served from memory: nothing is read back"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 110.6
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
