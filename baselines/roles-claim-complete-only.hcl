# Limits of scenarios/roles/claim-complete-only.hcl. They are tripwires for two shared cores.

baseline "roles-claim-complete-only" {
  configuration = "5fe09dfd2b52"

  floor "cycles_per_s" {
    min      = 100000
    observed = 408100
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 286.8
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
