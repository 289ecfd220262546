# Limits of scenarios/shard-writers.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "shard-writers" {
  configuration = "407a287b024d"

  floor "cycles_per_s" {
    min      = 3000
    observed = 14640
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 81.13
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
