# Limits of scenarios/payload.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "payload" {
  configuration = "e04b96f05050"

  floor "cycles_per_s" {
    min      = 500
    observed = 1488
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 2500
    observed = 940.5
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
