# A follower is removed from the cluster and added again five seconds later, then the leader is: the cluster goes on with two
# members, and a node that is added catches up before it has a vote.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "1m10s" }

scenario "membership-change" {
  title  = "Members removed and added under load"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/cluster.hcl" {}

  fault "membership" {
    target = follower()
    at     = "5s"
    for    = "5s"
    every  = "15s"
    times  = 2
  }

  fault "membership" {
    target = leader()
    at     = "35s"
    for    = "5s"
    every  = "15s"
    times  = 2
  }
}
