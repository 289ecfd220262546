# One server process with one shard, and its invariants, for scenarios to include. The server has
# one CPU, and the including scenario gives the generator another.

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
