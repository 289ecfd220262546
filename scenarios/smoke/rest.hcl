# The shape of rest.hcl, short.

variable "window" { default = "2s" }
variable "durability" { default = "none" }

scenario "smoke-rest" {
  title  = "Create, claim and complete with REST requests, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  references = ["echo"]

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
    min                     = 4200
    host_class              = "2-cpus-amd64-virtual-ext4"
    foreign_cpu_percent_max = 10
    because                 = "half of what two shared cores do, 8,500 to 14,700"
  }

  limit "cycles_per_s" {
    relative_to             = "echo"
    min                     = 0.185
    foreign_cpu_percent_max = 10
    because                 = "0.204 to 0.239 when nothing else ran. An echo needs the kernel and the network as a cycle does, and is slow when they are. Beside another process that loads the CPUs the rate says little of the server"
  }

  limit "server_cpu_us_per_cycle" {
    relative_to             = "echo"
    max                     = 3
    foreign_cpu_percent_max = 10
    because                 = "2.10 to 2.70 when nothing else ran, 2.8 to 3.3 beside a process that loads a core. The limit is a ninth above the most when nothing else ran: a build that loses a quarter of its rate reaches it"
  }

  limit "server_cpu_us_per_cycle" {
    max        = 200
    host_class = "2-cpus-amd64-virtual-ext4"
    because    = "55 to 108 us when nothing else ran, up to 145 beside a process that loads a core: a tripwire for that case"
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
