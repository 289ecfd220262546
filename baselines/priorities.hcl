# Limits of scenarios/priorities.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "priorities" {
  configuration = "0e40ff65a2b2"

  floor "cycles_per_s" {
    min      = 150000
    observed = 717000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 400
    observed = 140.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
