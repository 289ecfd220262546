# How much flushes and compactions cost the hot path, with payloads of 4 KiB. The points are
# memtables that are flushed several times a second, memtables of the default size, and memtables so
# large that a window fills only one or two, which defers most flushes and compactions.

scenario "background" {
  title = "Flush and compaction in the window: small memtables, the default, and large ones"
  tags  = ["single-node", "tuning"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1

    settings {
      memory = "50%" # room for the largest memtables: a server holds up to four
    }
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 64
    batch     = 16
    in_flight = 2048
    payload   = fixed("4KiB")
  }

  rounds = 6

  sweep "topology.settings.storage.memtable_size" { values = ["4MiB", "64MiB", "1GiB"] }
}
