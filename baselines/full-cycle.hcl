# Limits of scenarios/full-cycle.hcl. They are tripwires, as those of smoke.hcl are, and a little closer: seven long
# rounds spread less than three short ones.

baseline "full-cycle" {
  configuration = "94822e9738ef"

  floor "cycles_per_s" {
    min      = 30000
    observed = 139700
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below what two shared cores do: trips on a break, not on a neighbour"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 50
    observed = 6.927
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a busy host has doubled the CPU time of a cycle: several times as much is a change of the code"
  }

  ceiling "client_cpu_us_per_cycle" {
    max      = 50
    observed = 6.997
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a load generator that costs more than this starves the server it shares two cores with"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 1.032
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of a second is a stall, or a backlog: producers do not wait for completions, so one that the workers no longer keep down shows here"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 70.48
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }
}
