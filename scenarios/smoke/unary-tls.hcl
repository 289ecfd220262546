# The shape of unary.hcl, short, over TLS.

variable "window" { default = "2s" }

scenario "smoke-unary-tls" {
  title  = "Create, claim and complete with unary gRPC calls over TLS, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  references = ["cpu"]

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
    min                     = 9500
    host_class              = "2-cpus-amd64-virtual-ext4"
    foreign_cpu_percent_max = 10
    because                 = "half of what two shared cores do: 18,900 to 20,100"
  }

  limit "cycles_per_s" {
    relative_to             = "cpu"
    min                     = 0.0245
    foreign_cpu_percent_max = 10
    because                 = "0.0285 to 0.0305 alone; a server that loses a quarter of its rate has 0.0229 at most. Beside a neighbour client and server get less of the CPUs, so that it tells nothing"
  }

  limit "server_cpu_us_per_cycle" {
    relative_to = "cpu"
    max         = 36.5
    because     = "27.8 to 29.0 alone and 34.8 beside a process that loads a core; a server that loses a quarter of its rate to CPU time has 38"
  }

  limit "server_allocs_per_cycle" {
    max     = 270
    because = "265.6 whatever the host does"
  }

  limit "cycle_latency_ms_p99" {
    max     = 100
    because = "9 to 12 ms: far above is a stall, or a backlog that the workers do not keep down"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "some for each connection and stream: more is growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 180
    because = "55 MB; caches and windows are bounded, so that more is growth with the number of tasks"
  }
}
