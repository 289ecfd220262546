# Limits of scenarios/knobs/messages-in-flight.hcl. They apply to each of its points and are
# tripwires for two shared cores.

baseline "knob-messages-in-flight" {
  configuration = "1cd64b8d0e56"

  floor "cycles_per_s" {
    min      = 80000
    observed = 399900
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 4000
    observed = 1257
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
