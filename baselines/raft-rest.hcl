# Limits of scenarios/raft-rest.hcl, tripwires as those of rest.hcl.

baseline "raft-rest" {
  configuration = "253d3c543841"

  floor "cycles_per_s" {
    min      = 500
    observed = 5112
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three requests for each task to the node that leads, on two shared cores with the two others"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 6000
    observed = 69.73
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "1,024 tasks in flight take two seconds at the floor: more than this is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 272.2
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three nodes whose caches, windows and logs in memory are bounded: more is growth with the number of tasks"
  }
}
