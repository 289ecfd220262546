# The links between all nodes get 20 ms of delay in each direction, and later a limit of 1 MiB/s. No
# node fails: the rate falls to what the links allow and recovers when they do.

variable "durability" { default = "none" }
variable "idempotent" { default = true }
locals { window = "45s" }

scenario "slow-link" {
  title  = "Slow links between all nodes: 20 ms each way, then 1 MiB/s"
  tags   = ["raft", "faults"]
  rounds = 3

  include "shared/cluster.hcl" {}

  fault "delay" {
    target = all()
    at     = "5s"
    for    = "10s"
    delay  = "20ms"
    jitter = "2ms"
  }

  fault "bandwidth" {
    target = all()
    at     = "25s"
    for    = "10s"
    rate   = "1MiB/s"
  }
}
