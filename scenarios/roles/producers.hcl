# 1 to 256 producers with a fixed number of workers: how the enqueue rate grows until the workers or
# the server are the limit. Each call of a producer has 4 tasks and each claim of a worker up to 16,
# so that 64 workers keep up with few producers and with many.

scenario "roles-producers" {
  title = "1 to 256 producers with 64 workers, at durability sync"
  tags  = ["roles", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver         = "stream"
    producers      = 1
    workers        = 64
    producer_batch = 4
    worker_batch   = 16
    in_flight      = 4096
  }

  phases {
    warmup     = "1s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "5s"
  }

  rounds = 6

  sweep "workload.main.producers" { values = [1, 4, 16, 64, 256] }

  invariant "conserved" {}
}
