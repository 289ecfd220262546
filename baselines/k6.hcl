# Limits of scenarios/k6.hcl, whose load is made in JavaScript by a k6 process beside the server. They are tripwires: each is
# far from what a working build does, so that a neighbour's load does not trip it and a break does.

baseline "k6" {
  configuration = "dfef5f5a742e"

  floor "cycles_per_s" {
    min      = 5000
    observed = 118600
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "a third of 15,000, below which nobody would load a queue from JavaScript; shared cores may halve what they do"
  }

  ceiling "client_cpu_us_per_cycle" {
    max      = 150
    observed = 8.179
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "at 15,000 cycles a second more than this is more than two CPUs: k6 would be what is measured"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 60
    observed = 4.525
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "that of smoke.hcl: who calls does not change what a cycle costs the server by more"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 2000
    observed = 267.4
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "producers do not wait for completions, so this is the backlog that workers in JavaScript keep: two seconds of it is a stall"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 158
    on       = "AMD EPYC, 2 CPUs, 2026-11-22"
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }
}
