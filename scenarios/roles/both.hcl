# Producers and workers together: the figures to compare with enqueue-only.hcl and
# claim-complete-only.hcl.

scenario "roles-both" {
  title = "Enqueues, claims and completions over gRPC streams, calls of 16 tasks, at durability sync"
  tags  = ["roles"]

  topology "single" {
    shards     = 1
    durability = "sync"
    listen     = "tcp"
  }

  # Twice as many tasks may be in flight as producers and workers hold.
  workload "main" {
    driver    = "stream"
    producers = 32
    workers   = 32
    batch     = 16
    in_flight = 2048
  }

  phases {
    warmup = "2s"
    window = "10s"
  }

  rounds = 6

  invariant "conserved" {}
}
