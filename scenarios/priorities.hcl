# What priorities cost a server whose queues always have waiting tasks: all tasks of one priority, a tenth of them urgent, and
# tasks of all ten priorities. The latencies are over all tasks.

scenario "priorities" {
  title = "Create, claim and complete tasks of one, two and ten priorities"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # Far more tasks may be in flight than workers hold, so that tasks wait and a higher priority has something to overtake.
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
