# leader-kill.hcl with the disk in the path: every node fsyncs before it acknowledges.

variable "durability" { default = "sync" }
variable "idempotent" { default = true }

scenario "leader-kill-sync" {
  title  = "Fifty leader kills in a row under load, three nodes, fsync before each acknowledgement"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/leader-kill.hcl" {}
}
