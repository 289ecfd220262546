# Limits of scenarios/reads.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "reads" {
  configuration = "2b7050dee5b6"

  floor "cycles_per_s" {
    min      = 30000
    observed = 128800
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 72.57
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
