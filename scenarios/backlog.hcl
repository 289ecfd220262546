# Ten million tasks that no worker has claimed: what they cost in memory, how soon a server that was killed with them serves
# again, and how fast they drain. The window before it is the reference in the same run: its queue stays nearly empty.
#
# drain_ratio is the rate of the drain to that of the window. A cycle of the drain has no enqueue, so the same rate is
# less work. drain_small_ratio compares it with the drain of half a million tasks just before: the same work, so it says
# what the size of the backlog costs.

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
    warmup_max = "10s" # it goes on until the rate is steady
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

  # Each takes a few minutes. Below six rounds the spread shown beside a median is its range.
  rounds = 3

  invariant "conserved" {}
}
