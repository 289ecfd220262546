# Limits of scenarios/three-hosts-loss.hcl, which hold for each of its points: tripwires for two shared cores, which the three nodes, the generator and the
# forwarder of the packets share.

baseline "three-hosts-loss" {
  configuration = "b6c540ea73ba"

  floor "cycles_per_s" {
    min      = 50000
    observed = 208300
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of what 1 % of lost packets left. TCP sends again what is lost: below that, leaders were lost, or entries wait for one another"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1265
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
