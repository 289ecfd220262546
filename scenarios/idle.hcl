# A server that has nothing to do: what it costs to leave one running. Its workers are connected and wait, as those of a
# queue that is seldom used do, and all queues are empty.

scenario "idle" {
  title = "An idle server with waiting workers and empty queues"
  tags  = ["single-node"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  workload "main" {
    driver   = "stream"
    workers  = 8
    arrivals = none()
  }

  phases {
    warmup = "5s"
    window = "30s"
    drain  = "5s"
  }

  rounds = 3

  invariant "conserved" {}

  # Tripwires at ten times what it should be on a quiet host. A server that polls breaks them.
  limit "server_cpu_cores" {
    max      = 0.05
    observed = 0.01251
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "an idle server wakes for nothing: a poll of a millisecond would cost more than this"
  }
  limit "server_rss_mb_max" {
    max      = 200
    observed = 43.31
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "empty queues hold nothing: the rest is the runtime and empty buffers of the store"
  }
}
