# Limits of scenarios/knobs/busy-poll.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "knob-busy-poll" {
  configuration = "c615c5489df1"

  floor "cycles_per_s" {
    min      = 60000
    observed = 289300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 74.8
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
