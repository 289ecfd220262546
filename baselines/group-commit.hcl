# Limits of scenarios/group-commit.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "group-commit" {
  configuration = "2ca4b2f99314"

  floor "cycles_per_s" {
    min      = 6000
    observed = 28160
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 500
    observed = 190.8
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
