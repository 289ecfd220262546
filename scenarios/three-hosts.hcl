# The cost of a three-node cluster by the network between its nodes. Each node is on a separate
# host: a network namespace of this machine with its own address. Each packet between two hosts
# takes half of the round trip. The scenario needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN and
# CAP_NET_RAW) and /dev/net/tun. The load generator reaches all nodes without added delay.
#
# A node stands for election when it has not heard from a leader for 500 ms, the server's default:
# fifty of the longest round trips here.

scenario "three-hosts" {
  title = "Create, claim and complete in batches of 64, three nodes on separate hosts, by the round trip between them"
  tags  = ["raft", "hosts"]

  include "shared/hosts.hcl" {}

  # round_trip and durability are swept.
  topology "raft" {
    nodes      = 3
    durability = "none"
    procs      = 1
    hosts { round_trip = "0.1ms" }
  }

  rounds = 6

  sweep "topology.hosts.round_trip" { values = ["0.1ms", "0.5ms", "2ms", "10ms"] }
  sweep "topology.durability" { values = ["none", "sync"] }
}
