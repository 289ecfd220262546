# Limits of scenarios/mixed.hcl. They are tripwires for two shared cores.

baseline "mixed" {
  configuration = "d6d514f4b27e"

  floor "cycles_per_s" {
    min      = 1500
    observed = 7997
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 85.66
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
