# The load of unary.hcl, short, over TLS.

variable "window" { default = "2s" }

scenario "smoke-unary-tls" {
  title  = "Create, claim and complete with unary gRPC calls over TLS, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}

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
    min     = 1000
    because = "a tenth of the rate of the slowest host, 10,000: a safety net for hosts that cannot measure the baseline build"
  }
}
