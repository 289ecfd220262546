# Limits of scenarios/knobs/commit-tasks-max.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-commit-tasks-max" {
  configuration = "3a2a904d5804"

  floor "cycles_per_s" {
    min      = 85000
    observed = 344900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 95.37
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
