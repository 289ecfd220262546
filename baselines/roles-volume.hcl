# Limits of scenarios/roles/volume.hcl. They are tripwires for two shared cores.

baseline "roles-volume" {
  configuration = "fe9efe9bac6c"

  floor "cycles_per_s" {
    min      = 80000
    observed = 340700
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 79.56
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
