# What a quiet tenant notices of another one's large admin calls, and how long they hold its shard up: the same load at a
# fixed rate, in peace and beside mass cancels, redrives, purges, listings and waiters. A command waits for the turn of its
# shard that is under way, so the result has how many turns took longer than 2 ms.

scenario "admin-load" {
  title = "A tenant at 500/s, in peace and beside large admin calls"
  tags  = ["single-node", "isolation"]

  include "shared/quiet.hcl" {}

  attack {
    kinds = ["mass-cancels", "redrives", "purges", "lists", "awaits", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the tenant beside it: it is late more often than beside an idle server.
  validity { slip_ms_p99_max = 10 }
}
