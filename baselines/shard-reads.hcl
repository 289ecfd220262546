# Limits of scenarios/shard-reads.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "shard-reads" {
  configuration = "e6a4d2b324fe"

  floor "cycles_per_s" {
    min      = 1200
    observed = 5000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 80.92
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
