# Limits of scenarios/durability.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "durability-interval" {
  configuration = "471952384bb5"

  floor "cycles_per_s" {
    min      = 250000
    observed = 542900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 97.11
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
