# The cost of calls that ask all shards. The tasks of a queue are spread over all shards, so a list
# of a queue and a read of its figures ask each shard and join the answers. The load has a fixed
# rate far below the server's capacity, so the latency of the calls is their own.

scenario "shard-reads" {
  title = "Lists of a queue and reads of its figures, with 5,000 tasks a second on 1 to 8 shards"
  tags  = ["single-node", "isolation"]

  # shards is swept. The server's CPUs are not limited, because more shards use more CPUs.
  topology "sharded" {
    shards     = 1
    durability = "none"
  }

  # There are two tenants, so that every eighth read asks for another tenant's queue, which the server must refuse.
  workload "main" {
    driver    = "stream"
    tenants   = 2
    producers = 32
    workers   = 64
    payload   = fixed(64)
    arrivals  = rate("5k/s")
    in_flight = 5000
    reads     = list(0.05)
  }

  phases {
    warmup = "2s"
    window = "5s"
    drain  = "30s"
  }

  rounds = 6

  invariant "conserved" {}
  invariant "isolated" {}

  sweep "topology.shards" { values = [1, 4, 8] }
  sweep "workload.main.reads" { values = [list(0.05), stats(0.05)] }
}
