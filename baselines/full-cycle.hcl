# Limits of scenarios/full-cycle.hcl. They are tripwires like those of smoke.hcl, but a little
# closer: seven long rounds have less spread than three short ones.

baseline "full-cycle" {
  configuration = "94822e9738ef"

  floor "cycles_per_s" {
    min      = 30000
    observed = 139700
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below the rate of two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 50
    observed = 6.927
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a busy host has doubled the CPU time of a cycle: several times as much means that the code changed"
  }

  ceiling "client_cpu_us_per_cycle" {
    max      = 50
    observed = 6.997
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a load generator that costs more than this starves the server, with which it shares two cores"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 1.032
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of a second is a stall, or a backlog: producers do not wait for completions, so a backlog that the workers cannot drain shows here"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 70.48
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
