# How often the server fsyncs at durability interval. Each fsync takes disk time; a longer interval
# loses more acknowledged tasks when the power fails.

scenario "knob-sync-interval" {
  title  = "An fsync every 1 to 100 ms"
  tags   = ["single-node", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "single" {
    durability = "interval"
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

  sweep "topology.sync_interval" { values = ["1ms", "10ms", "100ms"] }
}
