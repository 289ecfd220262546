# Limits of scenarios/rest.hcl, tripwires as those of full-cycle.hcl.

baseline "rest" {
  configuration = "657a1a40e760"

  floor "cycles_per_s" {
    min      = 800
    observed = 11240
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three requests for each task, on two shared cores: trips on a break, not on a neighbour"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 4000
    observed = 19.14
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "1,024 tasks in flight take more than a second at the floor: more than this is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 67.65
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }
}
