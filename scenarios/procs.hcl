# The effect of more processors on a server with one shard: GOMAXPROCS of 1, 2 and 4. One goroutine
# decides for a shard; the others read requests, commit and answer. If the server has more
# processors than the host has free, it takes CPU time from the generator, whose own number of
# processors is fixed.

scenario "procs" {
  title = "One shard with one, two and four processors for the server"
  tags  = ["single-node", "tuning"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 64
    workers   = 128
    batch     = 16
    in_flight = 4096
    payload   = fixed(64)
    arrivals  = closed()
  }

  rounds = 6

  sweep "topology.durability" { values = ["none", "sync"] }
  sweep "topology.procs" { values = [1, 2, 4] }
}
