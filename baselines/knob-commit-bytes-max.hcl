# Limits of scenarios/knobs/commit-bytes-max.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-commit-bytes-max" {
  configuration = "4e19dde9c98c"

  floor "cycles_per_s" {
    min      = 2000
    observed = 8534
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 3000
    observed = 1083
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
