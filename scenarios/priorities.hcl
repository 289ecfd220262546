# The cost of priorities on a server whose queues always have waiting tasks: all tasks of one
# priority, a tenth of the tasks urgent, and tasks of all ten priorities. The latencies are over all
# tasks.

scenario "priorities" {
  title = "Create, claim and complete tasks of one, two and ten priorities"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # Far more tasks may be in flight than the workers hold, so that tasks wait and a task of a higher
  # priority can overtake others.
  workload "main" {
    driver    = "stream"
    procs     = 1
    queues    = 4
    producers = 32
    workers   = 64
    batch     = 8
    in_flight = 8192
    payload   = fixed(64)
    # priority is swept.
  }

  rounds = 6

  sweep "workload.main.priority" { values = [uniform(0, 0), share(9, 0.1), uniform(0, 9)] }
}
