# The same work in every round: 200,000 cycles, regardless of how long they take. The rate is the
# cycles divided by that time; a round that takes longer than a minute is invalid.

scenario "roles-volume" {
  title = "200,000 cycles over gRPC streams, calls of 16 tasks, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver    = "stream"
    producers = 32
    workers   = 32
    batch     = 16
    in_flight = 2048
  }

  phases {
    warmup = "2s"
    tasks  = 200000
    window = "1m"
  }

  rounds = 6

  invariant "conserved" {}
}
