# Limits of scenarios/roles/both.hcl. They are tripwires for two shared cores.

baseline "roles-both" {
  configuration = "9daea397ba97"

  floor "cycles_per_s" {
    min      = 60000
    observed = 256700
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 77.94
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
