# The number of tasks that a client sends and claims in one call. Each call costs both sides a
# frame, a command and an answer, which the tasks of the call share.

scenario "knob-batch" {
  title  = "Calls of 1 to 256 tasks"
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
    batch     = 1
    in_flight = 16384
    payload   = fixed(64)
  }

  sweep "workload.main.batch" { values = [1, 4, 16, 64, 256] }
}
