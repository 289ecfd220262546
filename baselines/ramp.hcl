# Limits of scenarios/ramp.hcl.

baseline "ramp" {
  configuration = "f7b5bbf4a2db"

  floor "cycles_per_s" {
    min      = 1000
    observed = 81480
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a hundredth of the rate of two shared cores: below it the server has stalled"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 1000
    observed = 5.865
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "latency counts from when a task was due, and four fifths of the peak leave room: a second is a backlog"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 70.37
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
