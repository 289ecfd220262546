# The number of tasks of a queue and priority that stay in memory. The server finds tasks beyond
# that by scans of the store: small windows save memory but cost scans when tasks wait.

scenario "knob-lane-window" {
  title  = "Windows of 64 to 4096 tasks"
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
    producers = 256
    workers   = 128
    batch     = 64
    in_flight = 32768
    payload   = fixed(64)
  }

  sweep "topology.settings.limits.lane_window_max" { values = [64, 512, 4096] }
}
