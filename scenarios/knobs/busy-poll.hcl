# Whether the server's connections poll for a moment before their thread sleeps. With polling, short
# answers arrive faster, but an idle server uses CPU time. The setting is for a server with its own
# processor.

scenario "knob-busy-poll" {
  title  = "Connections that poll before they sleep, and connections that do not"
  tags   = ["single-node", "tuning"]
  rounds = 6

  include "shared/phases.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 64
    workers   = 128
    in_flight = 1024
    payload   = fixed(64)
  }

  sweep "topology.busy_poll" { values = [false, true] }
}
