# What a three-node cluster costs against the bandwidth of its nodes: three-hosts.hcl at a round trip of 0.5 ms, with a limit on what each
# node sends to the others together. It also needs the kernel's qdisc tbf. The load generator and the nodes send to each other without limit.

scenario "three-hosts-bandwidth" {
  title = "Create, claim and complete in batches of 64, three nodes on hosts of their own, by the bandwidth of each host"
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
