# What further processors are worth to a server of one shard: its GOMAXPROCS at 1, 2 and 4. One goroutine decides for a shard, and the others
# read requests, commit and answer. More processors than the host has free take time from the generator, whose own are fixed.

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
