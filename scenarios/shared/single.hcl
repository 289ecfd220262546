# One server process with one shard, and what must hold in the end: for scenarios to include. The server has one CPU, and
# what includes this gives the generator another.

variable "durability" { default = "none" }
variable "window" { default = "10s" }

topology "single" {
  durability = var.durability
  procs      = 1
}

phases {
  warmup = "2s"
  window = var.window
  drain  = "30s"
}

invariant "conserved" {}
invariant "isolated" {}
