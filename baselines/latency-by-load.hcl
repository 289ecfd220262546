# Limits of scenarios/latency-by-load.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "latency-by-load" {
  configuration = "872af87e2fff"

  floor "cycles_per_s" {
    min      = 3000
    observed = 14360
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the lowest load: below it the server has stalled"
  }

  ceiling "server_rss_mb_max" {
    max      = 600
    observed = 201.7
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
