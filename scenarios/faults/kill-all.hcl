# All three nodes are killed with SIGKILL at the same time and started again one second later. Every
# acknowledged command was on the disks of two of them: nothing may be lost.

variable "durability" { default = "sync" }
variable "idempotent" { default = true }
locals { window = "1m30s" }

scenario "kill-all" {
  title  = "All three nodes killed at once, fsync before each acknowledgement"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/cluster.hcl" {}

  fault "kill" {
    target        = all()
    at            = "5s"
    restart_after = "1s"
    every         = "15s"
    times         = 5
  }
}
