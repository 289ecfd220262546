# How many entries of the log one message to a follower carries, and one write to the log. Few make more messages and writes; many make a
# follower wait for a long message.

scenario "knob-append-entries-max" {
  title  = "Messages of at most 1 to 1024 Raft entries"
  tags   = ["raft", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "sync"
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
  }

  sweep "topology.settings.cluster.append_entries_max" { values = [1, 16, 128, 1024] }
}
