# Limits of scenarios/three-hosts-loss.hcl. They apply to each of its points and are tripwires for
# two shared cores, which the three nodes, the generator and the packet forwarder share.

baseline "three-hosts-loss" {
  configuration = "b6c540ea73ba"

  floor "cycles_per_s" {
    min      = 50000
    observed = 208300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate with 1 % of lost packets, which TCP retransmits: below that, leaders were lost, or entries wait for each other"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1265
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
