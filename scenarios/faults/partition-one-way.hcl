# First the leader receives nothing while its messages still arrive, then the other way round. In
# the first case the leader does not learn that its entries were accepted; in the second case its
# followers no longer hear from it.

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
