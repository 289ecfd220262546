# leader-kill.hcl without idempotency keys: a task of unknown outcome is not enqueued again, so the
# servers store no keys. The difference between the two scenarios is the cost of the keys over fifty
# kills.

variable "durability" { default = "none" }
variable "idempotent" { default = false }

scenario "leader-kill-keyless" {
  title  = "Fifty leader kills in a row under load, three nodes, tasks without keys"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/leader-kill.hcl" {}
}
