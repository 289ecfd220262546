# Limits of scenarios/unary-combined.hcl. Like the limits of full-cycle.hcl, they are tripwires.

baseline "unary-combined" {
  configuration = "5834a8d8a6b0"

  floor "cycles_per_s" {
    min      = 2500
    observed = 16090
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "two calls for each task, on two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 1500
    observed = 14.68
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at the floor, 1,024 tasks in flight take half a second: more is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 62.52
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
