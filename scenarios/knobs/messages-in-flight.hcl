# The number of messages with entries that are in flight to a follower at once. With one, the leader
# waits for each answer before the next message. More messages hide the round trip, and matter most
# if it is long.

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
