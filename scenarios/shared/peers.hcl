# The load of peers.hcl, for its scenarios to include: one task a call and 64, small and larger payloads.

workload "main" {
  driver      = "program"
  connections = 4
  producers   = 16
  workers     = 32
  in_flight   = 8192 # what waits in a server stays small, whatever the server's rate
  payload     = fixed(64)
}

sweep "workload.main.batch"   { values = [1, 64] }
sweep "workload.main.payload" { values = [fixed(64), fixed("4KiB")] }

phases {
  warmup = "2s"
  window = "5s"
  drain  = "30s"
}
