# Limits of scenarios/knobs/memtable-size.hcl. They apply to each of its points and are tripwires
# for two shared cores.

baseline "knob-memtable-size" {
  configuration = "710ec722e5e6"

  floor "cycles_per_s" {
    min      = 80000
    observed = 380200
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 245.2
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
