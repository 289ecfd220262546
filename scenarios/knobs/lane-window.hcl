# How many tasks of a queue and priority stay in memory. Tasks beyond that are found again by scans of the store: small windows save memory
# and cost scans when tasks wait.

scenario "knob-lane-window" {
  title  = "Windows of 64 to 4096 tasks"
  tags   = ["single-node", "tuning"]
  rounds = 6

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

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  sweep "topology.settings.limits.lane_window_max" { values = [64, 512, 4096] }

  invariant "conserved" {}
}
