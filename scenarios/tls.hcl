# The cost of encrypting the clients' connections: the same load over plain TCP and over TLS 1.3,
# with streams and unary calls. Connections are opened before the window, so handshakes are not
# measured.

scenario "tls" {
  title = "Create, claim and complete over plain TCP and over TLS, by streams and unary calls"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # driver and batch are swept together, and tls of the topology.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 64
    batch       = 64
    in_flight   = 16384
    payload     = fixed(256)
  }

  rounds = 6

  zip {
    sweep "workload.main.driver" { values = ["stream", "unary"] }
    sweep "workload.main.batch" { values = [64, 1] }
    sweep "workload.main.in_flight" { values = [16384, 1024] }
  }
  sweep "topology.tls" { values = [false, true] }
}
