# The cost of a three-node cluster by the loss of packets between its nodes: three-hosts.hcl at a
# round trip of 2 ms, with random loss on arrival at a node. It also needs the kernel's nf_tables
# and nft_numgen. No packet from or to the load generator is lost.

scenario "three-hosts-loss" {
  title = "Create, claim and complete in batches of 64, three nodes on separate hosts, by the loss of packets between them"
  tags  = ["raft", "hosts"]

  include "shared/hosts.hcl" {}

  # loss_percent is swept.
  topology "raft" {
    nodes      = 3
    durability = "none"
    procs      = 1
    hosts { round_trip = "2ms" }
  }

  rounds = 6

  sweep "topology.hosts.loss_percent" { values = [0, 0.01, 0.1, 1] }
}
