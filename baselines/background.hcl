# Limits of scenarios/background.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "background" {
  configuration = "3998663c8563"

  floor "cycles_per_s" {
    min      = 5000
    observed = 22030
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1000
    observed = 340.6
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
