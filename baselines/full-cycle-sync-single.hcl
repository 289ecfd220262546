# Limits of scenarios/full-cycle-sync-single.hcl. They are tripwires for two shared cores.

baseline "full-cycle-sync-single" {
  configuration = "691513f7cc79"

  floor "cycles_per_s" {
    min      = 15000
    observed = 50510
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 64.06
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
