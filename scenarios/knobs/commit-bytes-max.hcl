# The maximum bytes of payloads in one commit. A large commit delays the small ones behind it, and
# its batch takes memory.

scenario "knob-commit-bytes-max" {
  title  = "Commits of at most 64 KiB to 64 MiB of payload"
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
    payload   = fixed("16KiB")
  }

  sweep "topology.settings.commit.bytes_max" { values = ["64KiB", "1MiB", "64MiB"] }
}
