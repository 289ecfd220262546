# rest.hcl on three nodes. Connections start at all of them, and any node takes any request. A node
# that does not lead forwards the request and names the leader in its answer; the connection then
# moves to the leader.

scenario "raft-rest" {
  title = "Create, claim and complete with REST requests, one task each, three nodes, one shard"
  tags  = ["raft"]

  # durability is swept.
  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # A producer makes one call per task and a worker makes two, as in rest.hcl.
  workload "main" {
    driver      = "rest"
    procs       = 1
    connections = 1
    producers   = 48
    workers     = 96
    batch       = 1
    in_flight   = 1024
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 6

  sweep "topology.durability" { values = ["none", "sync"] }

  invariant "conserved" {}
}
