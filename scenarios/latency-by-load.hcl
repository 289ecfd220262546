# Latency against offered load: tasks are due at a tenth of what a closed load reaches on this host, at a fifth, and so on to a tenth more than
# that. Latency counts from when a task was due. Above the peak the queue grows for the whole window: what is due beyond the bound on tasks in
# flight is dropped, and counts as not done.

scenario "latency-by-load" {
  title = "Latency of a cycle over gRPC streams at 10 to 110 % of the peak"
  tags  = ["single-node", "open-load"]

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 2 # with one, the flush of a memtable and the tasks alternate
  }

  # arrivals is swept.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 128 # each has one call under way: enough that a task that is due finds one free
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

  # Near the peak the generator, which shares the CPUs with the server, is late too: the page has its slip.
  validity { slip_ms_p99_max = "any" }

  sweep "workload.main.arrivals" {
    values = [
      rate(0.1 * peak), rate(0.2 * peak), rate(0.3 * peak), rate(0.4 * peak), rate(0.5 * peak), rate(0.6 * peak), rate(0.7 * peak),
      rate(0.8 * peak), rate(0.9 * peak), rate(1.0 * peak), rate(1.1 * peak),
    ]
  }

  invariant "conserved" {}
}
