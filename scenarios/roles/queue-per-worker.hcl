# Workers that share one queue, and workers with one queue each, at the same load: the gain or the
# cost for the server if no two workers claim from the same queue. Each worker takes 1 ms on average
# for the tasks of a claim, as a real worker would.

scenario "roles-queue-per-worker" {
  title = "64 workers on one queue or on a queue each, with think times of 1 ms, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver    = "stream"
    producers = 64
    workers   = 64
    batch     = 4
    in_flight = 1024
    think     = exponential("1ms")
  }

  sweep "workload.main.queue_per_worker" { values = [false, true] }

  phases {
    warmup     = "1s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "5s"
  }

  rounds = 6

  invariant "conserved" {}
}
