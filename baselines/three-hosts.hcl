# Limits of scenarios/three-hosts.hcl. They apply to each of its points and are tripwires for two
# shared cores, which the three nodes, the generator and the packet forwarder share.

baseline "three-hosts" {
  configuration = "b121e8749315"

  floor "cycles_per_s" {
    min      = 30000
    observed = 119400
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate at a round trip of 10 ms with fsync: below that, proposals wait for each other"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1331
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
