# The cost of failures: the same load with workers that fail no delivery, a hundredth, a tenth and a
# third of them. The server hands each failed task out again after at most 10 ms. A task is dead
# after eight failed attempts, which happens to one task in 7,000 if a third of the deliveries fail.

scenario "retries" {
  title = "Create, claim and complete tasks while workers fail a share of the deliveries"
  tags  = ["single-node"]

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver       = "stream"
    procs        = 1
    queues       = 4
    producers    = 32
    workers      = 64
    batch        = 8
    in_flight    = 8192
    payload      = fixed(64)
    fail         = 0 # swept
    max_attempts = 8
    backoff      = "10ms"
  }

  phases {
    warmup     = "1s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "6s"
  }

  rounds = 6

  sweep "workload.main.fail" { values = [0, 0.01, 0.1, 0.33] }

  invariant "conserved" {}
  invariant "isolated" {}
}
