# group-commit.hcl on three nodes: with one entry of the Raft log for all waiting commands, and with
# one entry for each command. Raft sends several entries in one message and writes them together
# even without sharing. raft-coalescing.hcl has more rounds at durability none.

scenario "group-commit-raft" {
  title = "One task per call on three nodes, with commands that share Raft entries and without"
  tags  = ["raft", "ablation"]

  include "shared/sweep.hcl" {}

  topology "raft" {
    nodes      = 3
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 128
    producers   = 512
    workers     = 512
    batch       = 1
    in_flight   = 4096
    payload     = fixed(64)
    arrivals    = closed()
  }

  rounds = 6

  # One task per call costs the generator about as much as the server. The page shows where the
  # generator is the limit: there the shown rate with group commit is a lower bound.
  validity { generator_cpu_percent_max = "any" }

  sweep "topology.durability" { values = ["none", "interval", "sync"] }
  sweep "topology.coalesce" { values = [true, false] }
}
