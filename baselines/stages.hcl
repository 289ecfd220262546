# Limits of scenarios/stages.hcl. They are tripwires for two shared cores.

baseline "stages" {
  configuration = "5954501e80c9"

  floor "cycles_per_s" {
    min      = 1500
    observed = 6333
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the rate of two shared cores: a slower run is broken, not noisy"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 15
    observed = 1.819
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "latency counts from when a task was due, and the plateau leaves room: more is a backlog"
  }

  ceiling "server_rss_mb_max" {
    max      = 250
    observed = 86.89
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
