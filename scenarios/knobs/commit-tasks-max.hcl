# The maximum number of tasks in one commit. Large commits share the cost of a commit, and of an
# fsync, among more tasks. With small commits the stages decide, commit and answer overlap more.

scenario "knob-commit-tasks-max" {
  title  = "Commits of at most 16 to 4096 tasks"
  tags   = ["single-node", "tuning"]
  rounds = 6

  include "shared/sync-phases.hcl" {}

  topology "single" {
    durability = "sync"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 64
    workers   = 128
    batch     = 16
    in_flight = 4096
    payload   = fixed(64)
  }

  sweep "topology.settings.commit.tasks_max" { values = [16, 64, 512, 4096] }
}
