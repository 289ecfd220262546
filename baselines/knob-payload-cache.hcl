# Limits of scenarios/knobs/payload-cache.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-payload-cache" {
  configuration = "d36f6d1836ad"

  floor "cycles_per_s" {
    min      = 20000
    observed = 81420
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1500
    observed = 507.5
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
