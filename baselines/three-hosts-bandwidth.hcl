# Limits of scenarios/three-hosts-bandwidth.hcl. They apply to each of its points and are tripwires
# for two shared cores, which the three nodes, the generator and the packet forwarder share.

baseline "three-hosts-bandwidth" {
  configuration = "2bddb750235a"

  floor "cycles_per_s" {
    min      = 5000
    observed = 9696
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "half of the rate that 20 Mbit/s allow, at 123 bytes a cycle to each of two followers: below that, entries contain more than the tasks"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1329
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
