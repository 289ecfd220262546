# Limits of scenarios/knobs/key-filters.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "knob-key-filters" {
  configuration = "7ca3951d63bd"

  floor "cycles_per_s" {
    min      = 80000
    observed = 321800
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 248.8
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
