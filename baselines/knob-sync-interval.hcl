# Limits of scenarios/knobs/sync-interval.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-sync-interval" {
  configuration = "1f6b372cfc0a"

  floor "cycles_per_s" {
    min      = 200000
    observed = 883300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 92.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
