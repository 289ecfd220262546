# Limits of scenarios/rest.hcl, tripwires as those of full-cycle.hcl.

baseline "rest" {
  floor "cycles_per_s" {
    min      = 800
    observed = 8685
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "three requests for each task, on two shared cores: trips on a break, not on a neighbour"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 4000
    observed = 19.79
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "1,024 tasks in flight take more than a second at the floor: more than this is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 97.82
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }

  ceiling "lost" {
    max     = 0
    because = "an acknowledged task is never lost"
  }

  ceiling "duplicated" {
    max     = 0
    because = "a task is completed once"
  }

  ceiling "corrupted" {
    max     = 0
    because = "a payload is claimed as it was enqueued"
  }
}
