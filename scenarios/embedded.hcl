# The load of full-cycle.hcl with the server inside the generator's process, reached through a pipe
# in memory: no socket and no second process. The remaining cost is the server's own work and
# gRPC's. Client and server share the process's CPUs, heap and garbage collector, so the CPU time
# per cycle is one figure, which is not compared with the figures of two processes.

scenario "embedded" {
  title = "Create, claim and complete in one process, one Pebble shard"
  tags  = ["single-node", "embedded"]

  topology "embedded" {
    shards     = 1
    durability = "none"
  }

  workload "main" {
    driver      = "embedded"
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 1
    arrivals    = closed()
    payload     = fixed(64)
    in_flight   = 4096
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
  invariant "isolated" {}
}
