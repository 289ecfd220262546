# The size of the filters with which the server recognises new idempotency keys, 2 bytes per key.
# Keys beyond that size are looked up in the store.

scenario "knob-key-filters" {
  title  = "Filters of idempotency keys of 128 KiB to 64 MiB"
  tags   = ["single-node", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver     = "stream"
    procs      = 1
    producers  = 64
    workers    = 128
    batch      = 16
    in_flight  = 4096
    payload    = fixed(64)
    idempotent = true
  }

  sweep "topology.settings.limits.key_filters_max" { values = ["128KiB", "8MiB", "64MiB"] }
}
