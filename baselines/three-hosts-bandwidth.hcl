# Limits of scenarios/three-hosts-bandwidth.hcl, which hold for each of its points: tripwires for two shared cores, which the three nodes, the generator and the
# forwarder of the packets share.

baseline "three-hosts-bandwidth" {
  configuration = "2bddb750235a"

  floor "cycles_per_s" {
    min      = 5000
    observed = 9696
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "half of what 20 Mbit/s carry, at 123 bytes a cycle to each of two followers: below that, entries hold more than the tasks"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1329
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
