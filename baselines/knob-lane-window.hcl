# Limits of scenarios/knobs/lane-window.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "knob-lane-window" {
  configuration = "aa3a8701db6b"

  floor "cycles_per_s" {
    min      = 150000
    observed = 628200
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 241.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
