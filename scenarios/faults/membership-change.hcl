# A follower is removed from the cluster and added again five seconds later, then the leader: the
# cluster continues with two members, and an added node catches up before it can vote.

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
