# Ten minutes of enqueues and completions as fast as the server allows: whether the rate holds,
# whether the data folder stays bounded as completed tasks leave it, and whether memory does.
#
# decay_percent is the loss of the rate over the window, with bounds that include the noise of the
# host. steady_rate_ratio is the rate in the window's last minute divided by the rate in its second
# minute.

scenario "steady" {
  title = "Ten minutes of steady enqueue and complete: rate, disk and memory over time"
  tags  = ["single-node", "long"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # The limit on tasks in flight keeps the load steady: without it the queue would grow for ten
  # minutes.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 64
    in_flight   = 16384
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup = "5s"
    window = "10m"
    drain  = "1m"
  }

  # 300 samples: a block of decay_percent's bootstrap is 30 of them, a minute.
  series { every = "2s" }

  # This scenario measures the change of the rate over the window; decay_percent judges it.
  validity { trend_percent_max = "any" }

  rounds = 1

  invariant "conserved" {}
}
