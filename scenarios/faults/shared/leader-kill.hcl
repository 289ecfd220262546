# Whoever leads is killed with SIGKILL, fifty times in a row under load, and started again a second later. What includes this says the durability
# and whether tasks have keys (var.durability, var.idempotent).

locals { window = "5m10s" }

include "cluster.hcl" {}

fault "kill" {
  target        = leader()
  at            = "5s"
  restart_after = "1s"
  every         = "6s"
  times         = 50
}
