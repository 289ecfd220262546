# Limits of scenarios/three-hosts.hcl, which hold for each of its points: tripwires for two shared cores, which the three nodes, the generator and the
# forwarder of the packets share.

baseline "three-hosts" {
  configuration = "b121e8749315"

  floor "cycles_per_s" {
    min      = 30000
    observed = 119400
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of what a round trip of 10 ms with fsync gave: below that, proposals wait for one another"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1331
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
