# Limits of scenarios/pooled-tenants.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "pooled-tenants" {
  configuration = "d9b32eb2fe71"

  floor "cycles_per_s" {
    min      = 2500
    observed = 11340
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 96.71
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
