# Limits of scenarios/shard-writers.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "shard-writers" {
  configuration = "407a287b024d"

  floor "cycles_per_s" {
    min      = 3000
    observed = 14640
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 81.13
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
