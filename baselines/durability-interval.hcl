# Limits of scenarios/durability.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "durability-interval" {
  configuration = "471952384bb5"

  floor "cycles_per_s" {
    min      = 250000
    observed = 542900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 97.11
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
