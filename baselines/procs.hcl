# Limits of scenarios/procs.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "procs" {
  configuration = "1dcacc36c58e"

  floor "cycles_per_s" {
    min      = 100000
    observed = 461300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 400
    observed = 120.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
