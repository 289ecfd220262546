# Limits of scenarios/knobs/log-memtable-size.hcl. They apply to each of its points and are
# tripwires for two shared cores.

baseline "knob-log-memtable-size" {
  configuration = "936351e932c9"

  floor "cycles_per_s" {
    min      = 80000
    observed = 320100
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 3000
    observed = 1182
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
