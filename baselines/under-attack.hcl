# Limits of scenarios/under-attack.hcl.

baseline "under-attack" {
  configuration = "6c038184d539"

  floor "cycles_per_s" {
    min      = 400
    observed = 500
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "four fifths of the rate of 500/s: below that, the server starves the tenant"
  }

  ceiling "cycle_latency_ms_p99" {
    point             = "clients=1"
    relative_to_point = "clients=0"
    max               = 2
    unobserved        = "the published run of 2026-11-27 has 102.9, which breaks this limit"
    because           = "hostile clients may at most double the latency of a quiet tenant"
  }
}
