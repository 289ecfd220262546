# Tasks as in real use: most tasks are enqueued, claimed and completed; small shares of them are
# urgent, delayed, fail at first, have a result, have their lease extended, or are enqueued
# twice under one key. The run checks each of these. Latency counts from the due time of each task.

variable "rate" { default = "8k/s" }

scenario "mixed" {
  title = "Small shares of tasks with priorities, delays, retries, results, extensions and repeated keys"
  tags  = ["single-node", "open-load"]

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver       = "stream"
    procs        = 1
    tenants      = 2
    queues       = 4
    producers    = 64
    workers      = 64
    arrivals     = rate(var.rate)
    in_flight    = 40000 # five seconds of its rate
    payload      = lognormal(128, "2KiB")
    priority     = share(9, 0.05)
    delay        = share("1s", 0.05)
    fail         = 0.03
    max_attempts = 5
    backoff      = "20ms"
    result       = share("1KiB", 0.05)
    extend       = 0.05
    key          = 0.02
  }

  # The first delayed tasks become ready one second after the start.
  phases {
    warmup = "2s"
    window = "8s"
  }

  rounds = 6

  invariant "conserved" {}
  invariant "isolated" {}
}
