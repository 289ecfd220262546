# Limits of scenarios/builds.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "builds" {
  configuration = "da8a232221c7"

  floor "cycles_per_s" {
    min      = 25000
    observed = 107400
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of what the race detector leaves"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 208.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
