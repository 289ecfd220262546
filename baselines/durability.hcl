# Limits of scenarios/durability.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "durability" {
  configuration = "9615691b4aca"

  floor "cycles_per_s" {
    min      = 150000
    observed = 799200
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 300
    observed = 105.9
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
