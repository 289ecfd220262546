# The bytes of payloads that stay in memory between enqueue and claim. A task whose payload does not
# fit is read from the store when it is claimed.

scenario "knob-payload-cache" {
  title  = "A payload cache of 1 to 64 MiB"
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
    payload   = fixed("4KiB")
  }

  sweep "topology.settings.limits.cache_max" { values = ["1MiB", "16MiB", "64MiB"] }
}
