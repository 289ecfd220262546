# Limits of scenarios/k6.hcl, whose load is JavaScript in a k6 process on the server's host. They
# are tripwires: each is so far from the values of a working build that a busy neighbour does not
# break it and a defect does.

baseline "k6" {
  configuration = "dfef5f5a742e"

  floor "cycles_per_s" {
    min      = 5000
    observed = 37460
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a third of 15,000, below which a load generator in JavaScript is not useful; busy shared cores may halve the rate"
  }

  ceiling "client_cpu_us_per_cycle" {
    max      = 150
    observed = 32.23
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at 15,000 cycles a second, more than this is more than two CPUs: the run would measure k6"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 60
    observed = 11.48
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the limit of smoke.hcl: the type of client does not change the server's cost of a cycle by more"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 14.02
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the workers keep up with the producers, so the latency includes no backlog: a quarter of a second is a stall, or a growing backlog"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 61.76
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
