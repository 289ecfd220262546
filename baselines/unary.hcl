# Limits of scenarios/unary.hcl. They are tripwires like those of full-cycle.hcl.

baseline "unary" {
  configuration = "e8e569e2c4e0"

  floor "cycles_per_s" {
    min      = 2000
    observed = 12060
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "three calls for each task, on two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 1500
    observed = 13.3
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at the floor, 1,024 tasks in flight take half a second: more is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 61.21
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
