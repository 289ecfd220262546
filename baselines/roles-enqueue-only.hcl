# Limits of scenarios/roles/enqueue-only.hcl. They are tripwires for two shared cores.

baseline "roles-enqueue-only" {
  configuration = "fb1edf291a5c"

  floor "enqueues_per_s" {
    min      = 150000
    observed = 717700
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 207.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
