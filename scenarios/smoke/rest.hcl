# The shape of rest.hcl, short.

variable "window" { default = "2s" }
variable "durability" { default = "none" }

scenario "smoke-rest" {
  title  = "Create, claim and complete with REST requests, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  references = ["cpu"]

  include "shared/short.hcl" {}
  include "shared/single.hcl" {}

  workload "main" {
    driver    = "rest"
    procs     = 1
    producers = 32
    workers   = 64
    in_flight = 1024
    payload   = fixed(64)
  }

  limit "cycles_per_s" {
    min                     = 6500
    host_class              = "2-cpus-amd64-virtual-ext4"
    foreign_cpu_percent_max = 10
    because                 = "half of what two shared cores do, 13,300 to 14,700"
  }

  limit "cycles_per_s" {
    relative_to             = "cpu"
    min                     = 0.0197
    foreign_cpu_percent_max = 10
    because                 = "0.0231 to 0.0236 when nothing else ran, and three quarters of the least of these is below the limit. Beside another process that loads the CPUs the rate says little of the server"
  }

  limit "server_cpu_us_per_cycle" {
    relative_to             = "cpu"
    max                     = 52
    foreign_cpu_percent_max = 10
    because                 = "39.6 to 44.7 when nothing else ran, and 46 to 54 beside a process that loads a core. A server that loses a quarter of its rate to CPU time costs a third more"
  }

  limit "server_cpu_us_per_cycle" {
    max        = 120
    host_class = "2-cpus-amd64-virtual-ext4"
    because    = "55 to 62 us when nothing else ran, up to 77 beside a process that loads a core: a tripwire for that case"
  }

  limit "server_allocs_per_cycle" {
    max     = 174
    because = "170.3, whatever else the host does"
  }

  limit "cycle_latency_ms_p99" {
    max     = 200
    because = "13 to 20 ms. Many times as much is a stall, or a backlog that grows"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "some for each connection and stream. More would be growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 180
    because = "62 MB. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
