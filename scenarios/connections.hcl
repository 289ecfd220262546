# The effect of the number of client connections: the same producers and workers on 1 to 64
# connections.

scenario "connections" {
  title = "The same load over 1 to 64 client connections"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # connections is swept.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 64
    workers     = 128
    batch       = 16
    in_flight   = 16384
    payload     = fixed(64)
  }

  rounds = 6

  sweep "workload.main.connections" { values = [1, 4, 16, 64] }
}
