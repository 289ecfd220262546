# One server that stays up under a full load, in windows of ten seconds: whether the rate and the
# 99th percentile of cycle latency hold, and whether memory, descriptors, goroutines and the data
# folder stay at their size.
#
#   prony soak scenarios/soak/steady.hcl --folder runs/soak-steady --for 2h

scenario "soak-steady" {
  title = "A steady load on one server for twenty minutes: whether any figure drifts"
  tags  = ["soak", "single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  # The limit on tasks in flight keeps the load steady: without it the queue would grow.
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

  # The warm-up runs once, before the first window after a start of the servers. It is long enough
  # for heap, caches and levels of the store to reach their final size.
  phases {
    warmup = "2m"
    window = "10s"
    drain  = "30s"
  }

  soak {
    for = "20m"
    keep {
      age  = "168h"
      size = "256MiB"
    }
  }

  # The rate within a window may rise and fall: the soak judges the drift over all windows.
  validity { trend_percent_max = "any" }

  invariant "conserved" {}
}
