# The load of peers.hcl, for its scenarios to include: one task a call and 64, small and larger
# payloads.

workload "main" {
  driver      = "program"
  connections = 4
  producers   = 16
  workers     = 32
  payload     = fixed(64)
}

# The calls of producers and the slots of workers hold 48 tasks with one task a call, and 3,072 with
# 64. Without a bound near that, a server that hands tasks out more slowly than it takes them in
# would build up a backlog, and its latency would be the time to drain the backlog.
zip {
  sweep "workload.main.batch"     { values = [1, 64] }
  sweep "workload.main.in_flight" { values = [96, 4096] }
}
sweep "workload.main.payload" { values = [fixed(64), fixed("4KiB")] }

phases {
  warmup = "2s"
  window = "4s"
  drain  = "30s"
}

# The rate of some servers rises or falls for longer than a round, as their log files or tables
# grow. A figure is the mean of a window that begins at the same time after every server's start.
validity { trend_percent_max = "any" }
