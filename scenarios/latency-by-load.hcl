# Latency against offered load: tasks are due at 10 % to 110 % of the rate that a closed load
# reaches on this host, in steps of 10 %. Latency counts from the due time of each task. Above the
# peak, the queue grows for the whole window: tasks beyond the limit on tasks in flight are dropped
# and count as not done.

scenario "latency-by-load" {
  title = "Latency of a cycle over gRPC streams at 10 to 110 % of the peak"
  tags  = ["single-node", "open-load"]

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 2 # with one CPU, flushes of memtables and tasks would alternate
  }

  # arrivals is swept.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 128 # each has one call in flight: enough that a due task finds a free producer
    workers     = 128
    batch       = 1
    in_flight   = 50000
    payload     = fixed(64)
    arrivals    = rate(0.1 * peak)
  }

  phases {
    warmup = "2s"
    window = "5s"
    drain  = "30s"
  }

  rounds = 6

  # Near the peak the generator, which shares the CPUs with the server, is late too: the page shows
  # its slip.
  validity { slip_ms_p99_max = "any" }

  sweep "workload.main.arrivals" {
    values = [
      rate(0.1 * peak), rate(0.2 * peak), rate(0.3 * peak), rate(0.4 * peak), rate(0.5 * peak), rate(0.6 * peak), rate(0.7 * peak),
      rate(0.8 * peak), rate(0.9 * peak), rate(1.0 * peak), rate(1.1 * peak),
    ]
  }

  invariant "conserved" {}
}
