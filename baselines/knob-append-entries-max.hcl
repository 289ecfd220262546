# Limits of scenarios/knobs/append-entries-max.hcl. They apply to each of its points and are
# tripwires for two shared cores.

baseline "knob-append-entries-max" {
  configuration = "8f4ed5f0400a"

  floor "cycles_per_s" {
    min      = 12000
    observed = 50850
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 3000
    observed = 1003
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
