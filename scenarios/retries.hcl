# What failures cost: the same load with workers that fail no delivery, a hundredth, a tenth and a third of them. Each failed task is
# handed out again after 10 ms at most, and is dead after eight failed attempts, which of a third is one task in 7,000.

scenario "retries" {
  title = "Create, claim and complete tasks of which workers fail a share at first"
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
    warmup_max = "10s" # it goes on until the rate is steady
    window     = "6s"
  }

  rounds = 6

  sweep "workload.main.fail" { values = [0, 0.01, 0.1, 0.33] }

  invariant "conserved" {}
  invariant "isolated" {}
}
