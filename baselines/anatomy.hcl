# Limits of scenarios/anatomy.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "anatomy" {
  configuration = "746e981dcae7"

  floor "cycles_per_s" {
    min      = 60000
    observed = 163000
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slower point, one task a call: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 95.91
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
