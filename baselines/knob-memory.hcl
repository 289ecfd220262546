# Limits of scenarios/knobs/memory.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "knob-memory" {
  configuration = "a19aeab7cf10"

  floor "cycles_per_s" {
    min      = 250000
    observed = 1034000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 93.84
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
