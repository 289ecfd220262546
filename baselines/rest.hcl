# Limits of scenarios/rest.hcl. They are tripwires like those of full-cycle.hcl.

baseline "rest" {
  configuration = "657a1a40e760"

  floor "cycles_per_s" {
    min      = 800
    observed = 11240
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three requests for each task, on two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 4000
    observed = 19.14
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at the floor, 1,024 tasks in flight take more than a second: more than this is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 67.65
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
