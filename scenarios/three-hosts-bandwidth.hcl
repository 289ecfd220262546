# The cost of a three-node cluster by the bandwidth of its nodes: three-hosts.hcl at a round trip of
# 0.5 ms, with a limit on the total that each node sends to the others. It also needs the kernel's
# qdisc tbf. Traffic between the load generator and the nodes has no limit.

scenario "three-hosts-bandwidth" {
  title = "Create, claim and complete in batches of 64, three nodes on separate hosts, by the bandwidth of each host"
  tags  = ["raft", "hosts"]

  include "shared/hosts.hcl" {}

  # bandwidth is swept.
  topology "raft" {
    nodes      = 3
    durability = "none"
    procs      = 1
    hosts { round_trip = "0.5ms" }
  }

  rounds = 6

  sweep "topology.hosts.bandwidth" { values = ["1Gbit", "100Mbit", "20Mbit"] }
}
