# Fsync before each acknowledgement. With calls of 16 tasks, a commit contains the tasks that
# arrived during the previous fsync.

variable "window" { default = "2s" }
variable "durability" { default = "sync" }

scenario "smoke-sync" {
  title  = "Create, claim and complete in batches of 16, fsync before each acknowledgement"
  tags   = ["smoke", "single-node"]
  rounds = 3

  include "shared/short.hcl" {}
  include "shared/speed.hcl" {}
  include "shared/single.hcl" {}

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 128
    batch     = 16
    in_flight = 8192
    payload   = fixed(64)
  }

  limit "cycles_per_s" {
    min     = 10000
    because = "a tenth of the rate of the slowest host, 100,000, with a slow disk: a safety net for hosts that cannot measure the baseline build"
  }

  limit "storage_fsyncs_per_cycle" {
    min     = 0.00195
    because = "1 / (32 producers * 16 tasks). A call is acknowledged after an fsync that began after the call, so two calls of one producer never share an fsync"
  }
}
