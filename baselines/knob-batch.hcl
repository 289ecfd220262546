# Limits of scenarios/knobs/batch.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-batch" {
  configuration = "7dabde2cb9f0"

  floor "cycles_per_s" {
    min      = 40000
    observed = 176000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 228.1
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
