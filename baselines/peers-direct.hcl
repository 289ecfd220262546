# Limits of the scenario peers-direct in scenarios/peers.hcl. They apply to each of its points and
# are tripwires for two shared cores.

baseline "peers-direct" {
  configuration = "d5b755958f4a"

  floor "cycles_per_s" {
    min      = 4000
    observed = 17240
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1000
    observed = 493.8
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
