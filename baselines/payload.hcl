# Limits of scenarios/payload.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "payload" {
  configuration = "e04b96f05050"

  floor "cycles_per_s" {
    min      = 500
    observed = 1488
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 2500
    observed = 940.5
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
