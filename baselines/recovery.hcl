# Limits of scenarios/recovery.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "recovery" {
  configuration = "b22d49e807c2"

  floor "cycles_per_s" {
    min      = 250000
    observed = 1038000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 500
    observed = 199.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
