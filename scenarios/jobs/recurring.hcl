# Recurring tasks in addition to a load: a thousand of them, each due every second. Each due time must become
# exactly one task, which the harness judges by the due times in the headers of the tasks that it
# receives. The load runs at a fixed rate, far below the server's capacity, so that the lateness of the
# tasks is the server's.

scenario "recurring" {
  title = "1,000 recurring tasks, each due every second, and a load of 2,000 tasks a second"
  tags  = ["single-node", "jobs"]

  topology "single" {
    durability = "none"
    procs      = 2
  }

  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 16
    payload   = fixed(64)
    arrivals  = rate("2k/s")
    in_flight = 20000
  }

  recurring {
    tasks    = 1000
    interval = "1s"
  }

  phases {
    warmup = "2s"
    window = "20s"
    drain  = "30s"
  }

  rounds = 3

  invariant "conserved" {}
  invariant "isolated" {}
}
