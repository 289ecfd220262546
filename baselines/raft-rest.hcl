# Limits of scenarios/raft-rest.hcl. They are tripwires like those of rest.hcl.

baseline "raft-rest" {
  configuration = "253d3c543841"

  floor "cycles_per_s" {
    min      = 500
    observed = 5112
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three requests for each task to the leader, which shares two cores with the two other nodes"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 6000
    observed = 69.73
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at the floor, 1,024 tasks in flight take two seconds: more than this is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 3072
    observed = 272.2
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
