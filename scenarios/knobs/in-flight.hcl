# The maximum number of tasks that are enqueued and not yet completed. With few tasks the server is
# idle between calls. Tasks beyond what it can process at once wait in its queue, and the wait adds
# to their latency.

scenario "knob-in-flight" {
  title  = "At most 256 to 65,536 tasks in flight"
  tags   = ["single-node", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 64
    batch     = 16
    in_flight = 256
    payload   = fixed(64)
  }

  # Where tasks may wait, the backlog grows to the bound and stays there.
  validity { backlog_growth_percent_max = "any" }

  sweep "workload.main.in_flight" { values = [256, 1024, 4096, 65536] }
}
