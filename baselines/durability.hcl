# Limits of scenarios/durability.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "durability" {
  configuration = "9615691b4aca"

  floor "cycles_per_s" {
    min      = 150000
    observed = 538200
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 101.6
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
