# What a cycle consists of: its time step by step, its store operations, and the CPU time of each
# area of the code. The load is that of full-cycle.hcl, with one task a call and in batches.

scenario "anatomy" {
  title = "Anatomy of a cycle: one task a call, and batches of 64"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1 # server and generator get a CPU each, as in full-cycle.hcl
    busy_poll  = true
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    busy_poll   = true
    connections = 1
    producers   = 32
    workers     = 128
    in_flight   = 16384 # bounds the backlog in batches; see full-cycle-batch.hcl
    payload     = fixed(64)
    arrivals    = closed()
  }

  sweep "workload.main.batch" { values = [1, 64] }

  phases {
    warmup     = "2s"
    warmup_max = "10s"
    window     = "10s"
    drain      = "30s"
  }

  rounds          = 6
  profiled_rounds = 2

  capture "cpu" {}

  invariant "conserved" {}

  limit "cycle_unattributed_percent" {
    max      = 5
    observed = 2.293
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "each part of a cycle is measured separately: if their sum differs more from the cycle's time, a part is missing or wrong"
  }
}
