# Limits of scenarios/k6.hcl, whose load is made in JavaScript by a k6 process beside the server. They are tripwires: each is
# far from what a working build does, so that a neighbour's load does not trip it and a break does.

baseline "k6" {
  configuration = "dfef5f5a742e"

  floor "cycles_per_s" {
    min      = 5000
    observed = 37460
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a third of 15,000, below which nobody would load a queue from JavaScript; shared cores may halve what they do"
  }

  ceiling "client_cpu_us_per_cycle" {
    max      = 150
    observed = 32.23
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at 15,000 cycles a second more than this is more than two CPUs: k6 would be what is measured"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 60
    observed = 11.48
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "that of smoke.hcl: who calls does not change what a cycle costs the server by more"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 250
    observed = 14.02
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the workers keep up with the producers, so no backlog is in this: a quarter of a second is a stall, or a backlog that grows"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 61.76
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }
}
