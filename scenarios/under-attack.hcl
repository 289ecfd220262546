# What a quiet tenant notices of hostile clients of the same server: the same load at a fixed rate, in peace and under
# attack. Its latency counts from when its tasks were due.

scenario "under-attack" {
  title = "A tenant at 500/s, in peace and beside hostile clients"
  tags  = ["single-node", "isolation"]

  include "shared/quiet.hcl" {}

  attack {
    kinds = ["empty-tasks", "idle-connections", "unread-streams", "large-payloads", "many-queues", "long-errors", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the attackers: it is late more often than beside an idle server.
  validity { slip_ms_p99_max = 10 }
}
