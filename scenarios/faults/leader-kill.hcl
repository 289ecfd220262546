# Fifty leader kills in a row under load: no acknowledged task may be lost or completed twice, and
# the page shows the time until cycles were acknowledged again. A call whose outcome is unknown is
# repeated under the key of its task. leader-kill-keyless.hcl is the same without keys,
# leader-kill-sync.hcl with the disk in the path.

variable "durability" { default = "none" }
variable "idempotent" { default = true }

scenario "leader-kill" {
  title  = "Fifty leader kills in a row under load, three nodes"
  tags   = ["raft", "faults"]
  rounds = 1

  include "shared/leader-kill.hcl" {}
}
