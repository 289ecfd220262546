# How much hostile clients affect a quiet tenant of the same server: the same load at a fixed rate,
# without attackers and under attack. Its latency counts from the due times of its tasks.

scenario "under-attack" {
  title = "A tenant at 500/s, alone and with hostile clients"
  tags  = ["single-node", "isolation"]

  include "shared/quiet.hcl" {}

  attack {
    kinds = ["empty-tasks", "idle-connections", "unread-streams", "large-payloads", "many-queues", "long-errors", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the attackers, so it is late more often than
  # with an idle server.
  validity { slip_ms_p99_max = 10 }
}
