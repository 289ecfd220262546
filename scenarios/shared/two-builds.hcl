# Whole task cycles on one shard at durability "none", for two builds that run together: for the
# scenarios that `prony compare` and `prony ratchet` measure. The including file sets the number of
# producers and workers (local.producers, local.workers); a sweep may replace them. A call has one
# task of 64 bytes; `--var batch=16 --var payload=16384` compares the builds with other calls.

variable "batch" { default = 1 }
variable "payload" { default = 64 } # bytes

topology "single" {
  shards     = 1
  durability = "none"
  listen     = "tcp"
  procs      = 1
}

workload "main" {
  driver      = "stream"
  procs       = 1
  connections = 1
  producers   = local.producers
  workers     = local.workers
  batch       = var.batch
  payload     = fixed(var.payload)
  arrivals    = closed()
}

# For rounds, which `prony run` and `prony compare --rounds` measure. A duet has its own durations.
phases {
  warmup = "400ms"
  window = "1s"
  drain  = "30s"
}

# A disturbance of the host affects the slices of both builds equally, so a generation is dropped
# only if the host had almost no CPU time for the run.
validity {
  foreign_cpu_percent_max = 30
  steal_percent_max       = 15
  trend_percent_max       = "any"
}

invariant "conserved" {}
