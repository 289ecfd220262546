# Limits of scenarios/durability.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "durability" {
  configuration = "9615691b4aca"

  floor "cycles_per_s" {
    min      = 150000
    observed = 538200
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 101.6
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
