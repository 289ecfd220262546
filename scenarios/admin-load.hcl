# How much large admin calls of one tenant affect a quiet tenant, and how long they hold up its
# shard. The same load runs at a fixed rate, first alone and then together with mass cancels,
# redrives, purges, listings and waiters. A command waits for the current turn of its shard, so the
# result counts the turns that took longer than 2 ms.

scenario "admin-load" {
  title = "A tenant at 500/s, alone and with large admin calls of another tenant"
  tags  = ["single-node", "isolation"]

  include "shared/quiet.hcl" {}

  attack {
    kinds = ["mass-cancels", "redrives", "purges", "lists", "awaits", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the other tenant, so it is late more often
  # than with an idle server.
  validity { slip_ms_p99_max = 10 }
}
