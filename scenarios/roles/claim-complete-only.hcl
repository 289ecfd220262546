# Workers alone: how fast the server hands out and completes tasks while nothing is enqueued. A
# backlog is filled before each warm-up. It must outlast the window, and the workers complete the
# rest of it in the drain.

scenario "roles-claim-complete-only" {
  title = "Claims and completions alone over gRPC streams, calls of 16 tasks, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver    = "stream"
    producers = 0
    workers   = 32
    batch     = 16
  }

  backlog {
    tasks = 4000000
    fill  = "5m"
  }

  phases {
    warmup = "2s"
    window = "5s"
    drain  = "2m"
  }

  rounds = 6

  invariant "conserved" {}
}
