# The load of rest.hcl, short.

variable "window" { default = "2s" }
variable "durability" { default = "none" }

scenario "smoke-rest" {
  title  = "Create, claim and complete with REST requests, one task each"
  tags   = ["smoke", "single-node"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}
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
    min     = 800
    because = "a tenth of the rate of the slowest host, 8,500: a safety net for hosts that cannot measure the baseline build"
  }
}
