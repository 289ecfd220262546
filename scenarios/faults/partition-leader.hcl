# The leader is cut off from both other nodes for ten seconds, with clients on both sides. Whatever
# it acknowledges during the cut must survive the end of the cut, so it may acknowledge nothing.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "1m10s" }

scenario "partition-leader" {
  title  = "The leader cut off from the majority for 10 s"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/cluster.hcl" {}

  fault "partition" {
    target = leader()
    at     = "5s"
    for    = "10s"
    every  = "20s"
    times  = 3
  }
}
