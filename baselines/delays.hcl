# Limits of scenarios/delays.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "delays" {
  configuration = "399bf9547f3f"

  floor "cycles_per_s" {
    min      = 2500
    observed = 12000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of its rate: below it the server has stalled"
  }

  ceiling "late_ms_p99" {
    max      = 15
    observed = 1.475
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the lateness of a task that is due one second later"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 107.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
