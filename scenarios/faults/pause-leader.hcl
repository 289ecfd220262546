# The leader is stopped with SIGSTOP for thirty seconds, six times as long as a lease. The others
# elect a new leader, and the tasks are handed out again when their leases end. The other nodes must
# refuse what the old leader sends when it continues.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "50s" }

scenario "pause-leader" {
  title  = "The leader paused for 30 s, leases of 5 s"
  tags   = ["raft", "faults"]
  rounds = 3

  include "shared/cluster.hcl" {}

  fault "pause" {
    target = leader()
    at     = "5s"
    for    = "30s"
  }
}
