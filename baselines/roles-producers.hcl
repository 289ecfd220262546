# Limits of scenarios/roles/producers.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "roles-producers" {
  configuration = "e5d954ab5fe4"

  floor "cycles_per_s" {
    min      = 2500
    observed = 11670
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 93.66
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
