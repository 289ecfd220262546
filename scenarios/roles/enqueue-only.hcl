# Producers alone: how fast the server takes tasks in while nothing is claimed. The tasks stay on
# the server, whose own account must show that it still holds each of them.

scenario "roles-enqueue-only" {
  title = "Enqueues alone over gRPC streams, calls of 16 tasks, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  # in_flight is the number of tasks that may stay on the server. It exceeds what the producers
  # enqueue in the warm-up and the window, so that they never wait.
  workload "main" {
    driver    = "stream"
    producers = 32
    workers   = 0
    batch     = 16
    in_flight = 20000000
  }

  phases {
    warmup = "2s"
    window = "10s"
  }

  rounds = 6

  # The store grows for the whole window, with flushes and compactions at times. The figure is the
  # mean of a window and not a steady rate.
  validity { trend_percent_max = "any" }

  invariant "conserved" {}
}
