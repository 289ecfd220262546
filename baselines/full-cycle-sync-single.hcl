# Limits of scenarios/full-cycle-sync-single.hcl: tripwires for two shared cores.

baseline "full-cycle-sync-single" {
  configuration = "691513f7cc79"

  floor "cycles_per_s" {
    min      = 15000
    observed = 75980
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of what two shared cores did: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 61.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
