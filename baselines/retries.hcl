# Limits of scenarios/retries.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "retries" {
  configuration = "c00e81b469b8"

  floor "cycles_per_s" {
    min      = 40000
    observed = 182700
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 220.7
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
