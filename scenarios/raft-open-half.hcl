# open-half.hcl on three nodes that share the host: each task is work for all of them, so the rate
# is a third of the rate for one node.

variable "rate" { default = "12.8k/s" }

scenario "raft-open-half" {
  title = "Latency of a cycle over gRPC streams under open load at ${var.rate}, three nodes"
  tags  = ["raft", "core"]

  references = ["bare"]

  topology "raft" {
    nodes      = 3
    shards     = 1
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 128
    workers     = 128
    batch       = 1
    in_flight   = 50000
    payload     = fixed(64)
    arrivals    = rate(var.rate)
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  invariant "conserved" {}
}
