# First nothing reaches the leader while what it sends arrives, then the other way round. In the first case it does not hear
# that its entries were taken, in the second its followers don't hear of it.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "45s" }

scenario "partition-one-way" {
  title  = "The leader's links cut in one direction for 10 s, then in the other"
  tags   = ["raft", "faults"]
  rounds = 3

  include "shared/cluster.hcl" {}

  fault "partition" {
    target    = leader()
    at        = "5s"
    for       = "10s"
    direction = "in"
  }

  fault "partition" {
    target    = leader()
    at        = "25s"
    for       = "10s"
    direction = "out"
  }
}
