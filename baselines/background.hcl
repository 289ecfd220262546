# Limits of scenarios/background.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "background" {
  configuration = "3998663c8563"

  floor "cycles_per_s" {
    min      = 5000
    observed = 22030
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1000
    observed = 340.6
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
