# Limits of scenarios/roles/workers.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "roles-workers" {
  configuration = "a29f29a1cb84"

  floor "cycles_per_s" {
    min      = 1200
    observed = 5958
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 77.3
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
