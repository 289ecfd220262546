# Latency under a load that does not wait for the server: tasks are due at half of the rate that a closed round of the
# same workload reached just before, and their latency counts from when they were due. A stall therefore shows in all
# that was due during it, and not only in the calls that it held up.

scenario "open-half" {
  title = "Latency of a cycle over gRPC streams under open load at half of the measured peak"
  tags  = ["single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 2 # with one, the flush of a memtable and the tasks alternate
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 128 # each has one call under way: enough that a task that is due finds one free
    workers     = 128
    batch       = 1
    in_flight   = 50000 # what is due beyond that is dropped, and counted as not done by the window's end
    payload     = fixed(64)
    arrivals    = rate(0.5 * peak)
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  invariant "conserved" {}
}
