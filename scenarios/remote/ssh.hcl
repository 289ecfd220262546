# A cluster on three hosts that ssh reaches without a password. The program is copied to each host
# once.
variable "domain" { default = "example.org" }
variable "user" { default = "prony" }

locals {
  dir = "/var/lib/prony"
}

scenario "remote-ssh" {
  title = "Three hosts, one Raft shard, each acknowledgement after an fsync on two of them"
  tags  = ["remote", "raft"]

  topology "remote" {
    durability = "sync"
    tls        = true

    node "n1" {
      ssh     = "${var.user}@n1.${var.domain}"
      dir     = local.dir
      address = "n1.${var.domain}:7700"
      http    = "n1.${var.domain}:7701"
      admin   = "n1.${var.domain}:7702"
      peer    = "n1.${var.domain}:7703"
    }
    node "n2" {
      ssh     = "${var.user}@n2.${var.domain}"
      dir     = local.dir
      address = "n2.${var.domain}:7700"
      http    = "n2.${var.domain}:7701"
      admin   = "n2.${var.domain}:7702"
      peer    = "n2.${var.domain}:7703"
    }
    node "n3" {
      ssh     = "${var.user}@n3.${var.domain}"
      dir     = local.dir
      address = "n3.${var.domain}:7700"
      http    = "n3.${var.domain}:7701"
      admin   = "n3.${var.domain}:7702"
      peer    = "n3.${var.domain}:7703"
    }
  }

  workload "main" {
    driver    = "stream"
    tenants   = 4
    queues    = 8
    producers = 32
    workers   = 128
    batch     = 16
  }

  phases {
    warmup = "5s"
    window = "30s"
  }
  rounds = 7

  invariant "conserved" {}
}
