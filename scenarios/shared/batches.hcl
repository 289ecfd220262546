# The load of full-cycle-batch.hcl, for scenarios to include.

# The bound on tasks in flight is explained in full-cycle-batch.hcl.
workload "main" {
  driver      = "stream"
  procs       = 1
  connections = 1
  producers   = 32
  workers     = 128
  batch       = 64
  in_flight   = 16384
  payload     = fixed(64)
}
