# What a quiet tenant notices of hostile clients of the same server: the same load at a fixed rate, in peace and under
# attack. Its latency counts from when its tasks were due.

variable "rate" { default = "500/s" }

scenario "under-attack" {
  title = "A tenant at ${var.rate}, in peace and beside hostile clients"
  tags  = ["single-node", "isolation"]

  # With one CPU to run Go code on, the server stands still for up to 10 ms in each long system call, such as the write of a
  # table: it runs on both CPUs here, as a server does that is not told otherwise.
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
    kinds = ["empty-tasks", "idle-connections", "unread-streams", "large-payloads", "many-queues", "long-errors", "long-polls"]
  }
  sweep "attack.clients" { values = [0, 1] }

  rounds = 6

  # The generator shares two CPUs with the server and the attackers: it is late more often than beside an idle server.
  validity { slip_ms_p99_max = 10 }
}
