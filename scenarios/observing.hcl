# The cost of observing a server: the same load unobserved, with its metrics read each second, with
# debug logs, and with CPU, mutex and block profiles recorded all the time. `rate_cost` and the CPU
# time per cycle show the cost at each point.

scenario "observing" {
  title = "The cost of observing: metrics, debug logs and profiles"
  tags  = ["single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1 # server and generator get a CPU each, as in full-cycle.hcl
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 16
    in_flight   = 4096
    payload     = fixed(64)
    arrivals    = closed()
  }

  observe {}

  zip {
    sweep "observe.scrape" { values = ["0s", "1s", "0s", "0s"] }
    sweep "topology.settings.log.level" { values = ["info", "info", "debug", "info"] }
    sweep "observe.profiles" { values = [false, false, false, true] }
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s"
    window     = "5s"
    drain      = "30s"
  }

  rounds = 6

  invariant "conserved" {}
}
