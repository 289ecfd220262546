# The shape of unary.hcl, short, over TLS.

variable "window" { default = "2s" }

scenario "smoke-unary-tls" {
  title  = "Create, claim and complete with unary gRPC calls over TLS, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  references = ["echo"]

  include "shared/short.hcl" {}

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 1
    tls        = true
  }

  workload "main" {
    driver    = "unary"
    procs     = 1
    producers = 32
    workers   = 64
    in_flight = 1024
    payload   = fixed(64)
  }

  limit "cycles_per_s" {
    min                     = 5000
    host_class              = "2-cpus-amd64-virtual-ext4"
    foreign_cpu_percent_max = 10
    because                 = "half of what two shared cores do, 10,000 to 20,100"
  }

  limit "cycles_per_s" {
    relative_to             = "echo"
    min                     = 0.24
    foreign_cpu_percent_max = 10
    because                 = "0.300 to 0.372 when nothing else ran, however slow the host was. An echo needs the kernel and TLS as a cycle does, and is slow when they are. Beside another process that loads the CPUs the rate says little of the server"
  }

  limit "server_cpu_us_per_cycle" {
    relative_to             = "echo"
    max                     = 2.3
    foreign_cpu_percent_max = 10
    because                 = "1.56 to 1.85 when nothing else ran, 2.1 to 2.7 beside a process that loads a core. The limit is a quarter above the most when nothing else ran"
  }

  limit "server_cpu_us_per_cycle" {
    max        = 160
    host_class = "2-cpus-amd64-virtual-ext4"
    because    = "31 to 92 us when nothing else ran, up to 115 beside a process that loads a core: a tripwire for that case"
  }

  limit "server_allocs_per_cycle" {
    max     = 270
    because = "265.6, whatever else the host does"
  }

  limit "cycle_latency_ms_p99" {
    max     = 100
    because = "9 to 12 ms. Many times as much is a stall, or a backlog that grows"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "some for each connection and stream. More would be growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 180
    because = "55 MB. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
