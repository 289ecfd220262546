# The leader is killed with SIGKILL, fifty times in a row under load, and started again one second
# later. The including file sets the durability and whether tasks have keys (var.durability,
# var.idempotent).

locals { window = "5m10s" }

include "cluster.hcl" {}

fault "kill" {
  target        = leader()
  at            = "5s"
  restart_after = "1s"
  every         = "6s"
  times         = 50
}
