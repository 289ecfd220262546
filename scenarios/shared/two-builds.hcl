# Whole task cycles on one shard at durability "none", for two builds that are alive together: for the scenarios that `prony compare` and
# `prony ratchet` measure. What includes this says how many producers and workers there are (local.producers, local.workers). A sweep may
# replace them. A call has one task of 64 bytes; `--var batch=16 --var payload=16384` compares builds by other calls.

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

# Of rounds, which `prony run` and `prony compare --rounds` measure. A duet has lengths of its own.
phases {
  warmup = "400ms"
  window = "1s"
  drain  = "30s"
}

# What disturbs the host disturbs the slices of both sides alike, so a generation is dropped only where the host was hardly there.
validity {
  foreign_cpu_percent_max = 30
  steal_percent_max       = 15
  trend_percent_max       = "any"
}

invariant "conserved" {}
