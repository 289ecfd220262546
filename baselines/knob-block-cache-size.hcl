# Limits of scenarios/knobs/block-cache-size.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-block-cache-size" {
  configuration = "0f061d4767a7"

  floor "cycles_per_s" {
    min      = 50000
    observed = 226200
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 266.9
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
