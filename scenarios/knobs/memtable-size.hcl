# The size of a memtable. A task whose record and removal are in the same memtable never reaches a
# table: small memtables write more and are flushed more often. Large memtables take memory and make
# a restart after a crash longer.

scenario "knob-memtable-size" {
  title  = "Memtables of 1 to 64 MiB"
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
    batch     = 64
    in_flight = 16384
    payload   = fixed(64)
  }

  sweep "topology.settings.storage.memtable_size" { values = ["1MiB", "8MiB", "64MiB"] }
}
