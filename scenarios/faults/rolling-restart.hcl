# Each node in turn receives SIGTERM and is started again, as in an upgrade. A node that leads hands
# its leadership over before it ends, and clients follow: no call may fail.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "55s" }

scenario "rolling-restart" {
  title  = "Rolling restart of all nodes under load"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/cluster.hcl" {}

  fault "restart" {
    target = each()
    at     = "5s"
    every  = "8s"
    times  = 6
  }
}
