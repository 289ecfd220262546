# Limits of scenarios/knobs/append-entries-max.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-append-entries-max" {
  configuration = "8f4ed5f0400a"

  floor "cycles_per_s" {
    min      = 12000
    observed = 50850
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 3000
    observed = 1003
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
