# Limits of scenarios/knobs/lane-window.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-lane-window" {
  configuration = "aa3a8701db6b"

  floor "cycles_per_s" {
    min      = 150000
    observed = 628200
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 241.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
