# What scenarios have in common.
variable "workers" { default = 64 }

locals {
  per_producer = 4
}

topology "single" {
  durability = var.durability
  procs      = 1
}
phases { warmup = "1s"  window = "10s" }
include "deeper.hcl" {}
