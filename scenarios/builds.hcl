# What compile options of the server change: the instructions of newer processors, and the race
# detector, which finds bugs and makes the server slower. The servers are built from the source tree
# before the first round.

scenario "builds" {
  title = "A server built for any 64-bit processor and for those with AVX2, with and without the race detector"
  tags  = ["single-node", "tuning"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
    build { goamd64 = "v1" }
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 64
    batch     = 16
    in_flight = 2048
    payload   = fixed(64)
  }

  rounds = 6

  sweep "topology.build.goamd64" { values = ["v1", "v3"] }
  sweep "topology.build.race" { values = [false, true] }
}
