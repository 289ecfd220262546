# Limits of scenarios/tls.hcl, which hold for each of its points: tripwires for two shared cores.

baseline "tls" {
  configuration = "61ac43d29f10"

  floor "cycles_per_s" {
    min      = 5000
    observed = 22030
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of unary calls over TLS, which are the slowest point"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 263.6
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
