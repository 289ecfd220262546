# A rate that grows, stays, falls to nothing and returns: how latency follows a load that changes,
# and whether it recovers after a pause.

scenario "stages" {
  title = "Latency over stages: a ramp to 10,000 tasks a second, a plateau, a pause and a return, durability none"
  tags  = ["open-loop"]

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
    producers   = 128
    workers     = 256
    arrivals = stages("1k/s",
      ["10s", "10k/s"], # grows evenly
      ["10s", "10k/s"], # stays
      ["2s", "0/s"],    # falls to nothing
      ["3s", "0/s"],    # pauses
      ["0s", "5k/s"],   # returns at once, and stays
    )
  }

  phases {
    warmup = "2s"
    window = "30s"
  }

  rounds = 3

  invariant "conserved" {}
}
