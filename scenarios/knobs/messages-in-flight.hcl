# How many messages with entries are on their way to a follower at once. One waits for each answer before the next; more hide the round trip,
# and matter most where that is long.

scenario "knob-messages-in-flight" {
  title  = "One to 16 messages to a follower at once"
  tags   = ["raft", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 1
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
  }

  sweep "topology.settings.cluster.messages_in_flight" { values = [1, 2, 4, 16] }
}
