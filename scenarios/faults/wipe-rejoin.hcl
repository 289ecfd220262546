# A follower is killed and loses its data. It is removed from the cluster, starts with an empty
# store, joins again and catches up while the others serve.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "1m10s" }

scenario "wipe-rejoin" {
  title  = "A node that lost its data rejoins under load"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/cluster.hcl" {}

  fault "wipe" {
    target        = follower()
    at            = "5s"
    restart_after = "2s"
    every         = "20s"
    times         = 3
  }
}
