# What a quiet tenant notices of another one's large admin calls, and how long they hold its shard up: the same load at a
# fixed rate, in peace and beside mass cancels, redrives, purges, listings and waiters. A command waits for the turn of its
# shard that is under way, so the result has how many turns took longer than 2 ms.

variable "rate" { default = "500/s" }

scenario "admin-load" {
  title = "A tenant at ${var.rate}, in peace and beside large admin calls"
  tags  = ["single-node", "isolation"]

  # The server runs on both CPUs, as in under-attack: with one, a turn takes as long as a system call that holds this CPU.
  topology "single" {
    durability = "none"
    procs      = 2
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  invariant "conserved" {}
  invariant "isolated" {}

  workload "quiet" {
    driver    = "stream"
    producers = 16
    workers   = 16
    payload   = fixed(64)
    arrivals  = rate(var.rate)
    in_flight = 5000 # ten seconds of its rate: what is due beyond that is shed
  }

  attack {
    kinds = ["mass-cancels", "redrives", "purges", "lists", "awaits", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the tenant beside it: it is late more often than beside an idle server.
  validity { slip_ms_p99_max = 10 }
}
