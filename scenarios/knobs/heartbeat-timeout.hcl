# How soon a follower stands for election. A leader sends a heartbeat after a tenth to a fifth of
# the timeout, for each shard and follower: a short timeout costs CPU time and detects a dead leader
# earlier. If all nodes share two cores, a leader is late under this load with 50 ms and with 200
# ms, and loses its leadership: the scenario is for hosts with more cores.

scenario "knob-heartbeat-timeout" {
  title  = "Heartbeat timeouts of 50 to 500 ms with eight shards"
  tags   = ["raft", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 8
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

  sweep "topology.settings.cluster.heartbeat_timeout" { values = ["50ms", "200ms", "500ms"] }
}
