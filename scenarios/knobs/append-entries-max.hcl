# The maximum number of log entries in one message to a follower, and in one write to the log. A low
# value makes more messages and writes; a high value makes a follower wait for a long message.

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
