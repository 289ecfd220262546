# Limits of scenarios/observing.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "observing" {
  configuration = "9a6accf89459"

  floor "cycles_per_s" {
    min      = 150000
    observed = 780000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 79.77
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
