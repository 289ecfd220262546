# Ten million tasks that no worker has claimed: how much memory they take, how soon a killed server
# serves again with them, and how fast they drain. The window before the backlog is the reference:
# its queue stays nearly empty.
#
# drain_ratio is the rate of the drain divided by the rate of the window. A cycle of the drain has
# no enqueue, so it is less work at the same rate. drain_small_ratio compares the drain with a drain
# of half a million tasks just before it. Both do the same work, so the ratio shows the cost of the
# backlog's size.

scenario "backlog" {
  title = "A backlog of 10 million tasks: memory, restart after a kill, and drain"
  tags  = ["single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 32
    workers     = 128
    batch       = 64
    in_flight   = 16384
    payload     = fixed(64)
    arrivals    = closed()
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  backlog {
    tasks     = 10000000
    reference = 500000
    restart   = "kill"
    fill      = "10m"
    drain     = "10m"
  }

  # Each round takes a few minutes. With fewer than six rounds, the spread of a median is its range.
  rounds = 3

  invariant "conserved" {}
}
