# Limits of scenarios/noisy-neighbour.hcl. They apply to all workloads together unless they name
# one.

baseline "noisy-neighbour" {
  configuration = "75087e5a8cf3"

  floor "cycles_per_s" {
    min      = 1000
    observed = 94480
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a hundredth of the rate of two shared cores: below it the server has stalled"
  }

  floor "cycles_per_s" {
    workload = "quiet"
    min      = 400
    observed = 500
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "four fifths of its rate of 500/s: below that, the server starves the quiet tenant"
  }

  ceiling "cycle_latency_ms_p99" {
    workload = "quiet"
    max      = 500
    observed = 19.27
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "half a second means a queue behind the noisy tenants' tasks instead of a share of the server"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 119.1
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
