# Limits of scenarios/tls.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "tls" {
  configuration = "61ac43d29f10"

  floor "cycles_per_s" {
    min      = 5000
    observed = 22030
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of unary calls over TLS, the slowest point"
  }

  ceiling "server_rss_mb_max" {
    max      = 800
    observed = 263.6
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
