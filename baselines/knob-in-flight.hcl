# Limits of scenarios/knobs/in-flight.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "knob-in-flight" {
  configuration = "91300a6fe8b4"

  floor "cycles_per_s" {
    min      = 120000
    observed = 494300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 224.2
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
