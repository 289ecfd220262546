# What three nodes on hosts of their own do, and what must hold in the end: for scenarios to include that say what lies between the hosts.

variable "window" { default = "10s" }
variable "warmup" { default = "2s" }

# Many more tasks are under way than fit a round trip, so that the rate is not that of the calls that wait.
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
  warmup_max = "10s" # it goes on until the rate is steady
  window     = var.window
  drain      = "30s"
}

invariant "conserved" {}
