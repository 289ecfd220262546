# A server that already runs: without variables, the one that `bin/queued serve` starts in the root
# of the repository. Its admin listener must be reachable, because the run reads its settings,
# counters and profiles there. Servers beyond loopback have TLS: add ca to the topology.
variable "host" { default = "127.0.0.1" }
variable "token_file" { default = "../../data/admin.token" }

scenario "remote-attach" {
  title = "A server that already runs, over gRPC streams"
  tags  = ["remote"]

  topology "remote" {
    durability = "sync" # what the server must report as its durability
    token_file = var.token_file

    node "n1" {
      address = "${var.host}:7070"
      http    = "${var.host}:7072"
      admin   = "${var.host}:7071"
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

  # A server on the generator's host counts as foreign CPU time there. Remove this for a server on
  # another host.
  validity { foreign_cpu_percent_max = "any" }
}
