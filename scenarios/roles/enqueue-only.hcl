# Producers alone: what the server takes in while nothing is claimed. The tasks stay on the server, whose own account must show that it still
# holds each of them.

scenario "roles-enqueue-only" {
  title = "Enqueues alone over gRPC streams, calls of 16 tasks, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  # in_flight is how many tasks may stay on the server: more than the producers enqueue in the warm-up and the window, so that they never
  # wait for room.
  workload "main" {
    driver    = "stream"
    producers = 32
    workers   = 0
    batch     = 16
    in_flight = 20000000
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "10s"
  }

  rounds = 6

  invariant "conserved" {}
}
