# The limit on the process's memory. Memtables, caches, windows and buffers have shares of it. Below
# about 1 GiB the shares are smaller, and the Go runtime collects garbage more often.

scenario "knob-memory" {
  title  = "A server with a bound of 256 MiB to 2 GiB"
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
    producers = 64
    workers   = 128
    batch     = 16
    in_flight = 4096
    payload   = fixed(64)
  }

  sweep "topology.settings.memory" { values = ["256MiB", "512MiB", "2GiB"] }
}
