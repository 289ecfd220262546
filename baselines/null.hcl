# Limits of scenarios/null.hcl: the generator must be far faster than any server that it measures.

baseline "null" {
  configuration = "00978b07d3cd"

  floor "cycles_per_s" {
    min      = 2000000
    observed = 9030000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "on one CPU the generator must be many times faster than the fastest server in batches; otherwise the figures measure the generator"
  }

  ceiling "cpu_us_per_cycle" {
    max      = 0.5
    observed = 0.1112
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the same in CPU time, which a busy neighbour hardly affects"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 50
    observed = 0.3011
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "at the lowest rate, 4096 tasks in flight take 2 ms: more is a stall of the generator"
  }
}

baseline "null-open" {
  configuration = "626baff295f5"

  ceiling "slip_ms_p99" {
    max      = 1
    observed = 0.1372
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a larger slip makes a round invalid: on a fit host the generator keeps its schedule"
  }

  ceiling "dropped" {
    max     = 0
    because = "a target that answers immediately leaves no task in flight"
  }

  ceiling "unsent" {
    max      = 50
    observed = 2
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a target that answers immediately does not block producers: the remaining tasks are due in the window's last millisecond"
  }
}
