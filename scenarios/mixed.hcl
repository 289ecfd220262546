# Lives of tasks as they are in use: most tasks are enqueued, claimed and completed, and small shares of them are urgent, come due later, are
# failed at first, have a result, have their lease extended, or are enqueued twice under one key. Each of these is checked. The latency counts from when a task was due.

variable "rate" { default = "8k/s" }

scenario "mixed" {
  title = "Tasks with priorities, delays, retries, results, extensions and repeated keys, by small shares"
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

  # The first delayed tasks come due a second after the start.
  phases {
    warmup = "2s"
    window = "8s"
  }

  rounds = 6

  invariant "conserved" {}
  invariant "isolated" {}
}
