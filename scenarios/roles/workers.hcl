# 1 to 256 workers with a fixed number of producers: how the rate of claims and completions grows
# until the producers or the server are the limit. in_flight bounds the backlog that few workers
# leave.

scenario "roles-workers" {
  title = "1 to 256 workers with 64 producers, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver    = "stream"
    producers = 64
    workers   = 1
    batch     = 4
    in_flight = 4096
  }

  phases {
    warmup     = "1s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "5s"
  }

  rounds = 6

  sweep "workload.main.workers" { values = [1, 4, 16, 64, 256] }

  invariant "conserved" {}
}
