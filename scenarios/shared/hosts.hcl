# The load and the invariants of three nodes on separate hosts. A scenario that includes this file
# adds the network between the hosts.

variable "window" { default = "10s" }
variable "warmup" { default = "2s" }

# Far more tasks are in flight than one round trip needs, so that waiting calls do not limit the
# rate.
workload "main" {
  driver      = "stream"
  procs       = 1
  connections = 1
  queues      = 8
  producers   = 32
  workers     = 128
  batch       = 64
  in_flight   = 16384
  payload     = fixed(64)
  arrivals    = closed()
}

phases {
  warmup     = var.warmup
  warmup_max = "10s" # the warm-up continues until the rate is steady
  window     = var.window
  drain      = "30s"
}

invariant "conserved" {}
