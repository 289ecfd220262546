# Limits of scenarios/knobs/sync-interval.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-sync-interval" {
  configuration = "1f6b372cfc0a"

  floor "cycles_per_s" {
    min      = 200000
    observed = 883300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 92.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
