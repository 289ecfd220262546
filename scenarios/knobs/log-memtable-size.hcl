# The size of a memtable of the Raft logs. Entries that Raft removes while they are in a memtable
# are never written to a table: with small memtables, much of the log is written twice.

scenario "knob-log-memtable-size" {
  title  = "Memtables of the Raft logs of 8 to 128 MiB"
  tags   = ["raft", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "raft" {
    nodes      = 3
    shards     = 1
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

  sweep "topology.settings.cluster.log_memtable_size" { values = ["8MiB", "32MiB", "128MiB"] }
}
