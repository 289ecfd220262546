# The size of the cache for table blocks. Lookups of idempotency keys read filters and blocks that
# are not in a memtable: if the cache is too small, they read them from files.

scenario "knob-block-cache-size" {
  title  = "A block cache of 1 to 128 MiB"
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
    payload    = fixed(1024)
    idempotent = true
  }

  sweep "topology.settings.storage.block_cache_size" { values = ["1MiB", "32MiB", "128MiB"] }
}
