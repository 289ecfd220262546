# Limits of scenarios/builds.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "builds" {
  configuration = "da8a232221c7"

  floor "cycles_per_s" {
    min      = 25000
    observed = 107400
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate with the race detector"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 208.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
