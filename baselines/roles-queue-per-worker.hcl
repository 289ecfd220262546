# Limits of scenarios/roles/queue-per-worker.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "roles-queue-per-worker" {
  configuration = "b2f4fea78b23"

  floor "cycles_per_s" {
    min      = 15000
    observed = 69240
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 97.92
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
