# Limits of scenarios/priorities.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "priorities" {
  configuration = "0e40ff65a2b2"

  floor "cycles_per_s" {
    min      = 150000
    observed = 717000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 400
    observed = 140.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
