# How much hostile clients of the same server affect a quiet tenant. The tenant has the same load at a fixed rate in a round
# without attackers and in a round with them. Latency counts from the intended start of each request.

variable "rate" { default = "500/s" }

scenario "under-attack" {
  title = "A tenant at ${var.rate}, in peace and beside hostile clients"
  tags  = ["single-node", "isolation"]

  include "shared/single.hcl" {}

  workload "quiet" {
    driver    = "stream"
    producers = 16
    workers   = 16
    payload   = fixed(64)
    arrivals  = rate(var.rate)
    in_flight = 5000 # ten seconds at that rate; arrivals beyond it are dropped
  }

  attack {
    kinds = ["empty-tasks", "idle-connections", "unread-streams", "large-payloads", "many-queues", "long-errors", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the attackers, which delays it more often than an idle server does.
  validity { slip_ms_p99_max = 10 }
}
