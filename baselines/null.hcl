# Limits of scenarios/null.hcl: the generator must be able to do far more than any server that it measures.

baseline "null" {
  configuration = "00978b07d3cd"

  floor "cycles_per_s" {
    min      = 2000000
    observed = 9030000
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "on one CPU the generator must do many times what the fastest server does in batches, or the server's figures are its own"
  }

  ceiling "cpu_us_per_cycle" {
    max      = 0.5
    observed = 0.1112
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "the same in CPU time, which a busy neighbour does not take"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 50
    observed = 0.3011
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "4096 tasks in flight take 2 ms at the least rate: more is a stall of the generator"
  }
}

baseline "null-open" {
  configuration = "626baff295f5"

  ceiling "slip_ms_p99" {
    max      = 1
    observed = 0.1372
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a schedule that slips more makes a round invalid: on a host that is fit the generator keeps it"
  }

  ceiling "dropped" {
    max     = 0
    because = "a target that answers at once leaves nothing in flight"
  }

  ceiling "unsent" {
    max      = 50
    observed = 2
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a target that answers at once keeps no producer busy: what is left is due in the window's last millisecond"
  }
}
