# The effect of payload size: with larger payloads, cycles per second fall, and bytes per second
# rise until the store or the sockets are the limit.

scenario "payload" {
  title = "Create, claim and complete in batches of 16 with payloads of 64 B to 64 KiB"
  tags  = ["single-node"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # payload is swept.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 16
    workers     = 32
    batch       = 16
    in_flight   = 1024 # 64 MB of the largest payloads
    payload     = fixed(64)
  }

  rounds = 6

  sweep "workload.main.payload" { values = [fixed(64), fixed("1KiB"), fixed("4KiB"), fixed("16KiB"), fixed("64KiB")] }
}
