# Limits of scenarios/embedded.hcl. They are tripwires: client and server share the CPUs, and a busy
# neighbour slows both.

baseline "embedded" {
  configuration = "2e1d8b81221c"

  floor "cycles_per_s" {
    min      = 20000
    observed = 268900
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "far below the rate of two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "cpu_us_per_cycle" {
    max      = 80
    observed = 6.176
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "for both sides together: several times as much means that the code changed"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 12.39
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "a quarter of a second is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 305.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-28"
    because  = "for the whole process: more would be growth with the number of tasks"
  }
}
