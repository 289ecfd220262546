# Limits of scenarios/nodes.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "nodes" {
  configuration = "4a5f71b4d1b0"

  floor "cycles_per_s" {
    min      = 40000
    observed = 161900
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the rate of five nodes, which share two CPUs"
  }

  ceiling "server_rss_mb_max" {
    max      = 6000
    observed = 2002
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
