# A tenant that loads one server at a fixed rate, far below the server's capacity, for scenarios
# that add another client. Its latency counts from the due times of its tasks.
#
# With one CPU for Go code, each long system call, such as the write of a table, stops the server
# for up to 10 ms. So the server runs on both CPUs.

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
  arrivals  = rate("500/s")
  in_flight = 5000 # ten seconds of its rate: tasks beyond that are dropped
}
