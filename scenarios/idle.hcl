# The cost of a running server that has nothing to do. Its workers are connected and wait, as on a
# queue that is rarely used, and all queues are empty.

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

  # Limits at ten times the expected value on a quiet host. A server that polls exceeds them.
  limit "server_cpu_cores" {
    max      = 0.05
    observed = 0.01251
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "an idle server does not wake up: polling every millisecond would cost more than this"
  }
  limit "server_rss_mb_max" {
    max      = 200
    observed = 43.31
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "empty queues take no memory: the rest is the runtime and empty buffers of the store"
  }
}
