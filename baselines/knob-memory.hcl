# Limits of scenarios/knobs/memory.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-memory" {
  configuration = "a19aeab7cf10"

  floor "cycles_per_s" {
    min      = 250000
    observed = 1034000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 93.84
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
