# Limits of scenarios/knobs/payload-cache.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "knob-payload-cache" {
  configuration = "d36f6d1836ad"

  floor "cycles_per_s" {
    min      = 20000
    observed = 81420
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1500
    observed = 507.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
