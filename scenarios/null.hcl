# The rate of the generator alone: its producers and workers, recorders and ledger, against an
# in-memory target that answers immediately. A figure of a real server is meaningful only well below
# this rate.

scenario "null" {
  title = "The generator alone, on one CPU, in batches of 64"
  tags  = ["generator"]

  # There is no server.
  topology "none" {}

  workload "main" {
    driver    = "null"
    procs     = 1
    producers = 4
    workers   = 8
    batch     = 64
    payload   = fixed(64)
    arrivals  = closed()

    # Producers wait for the workers, as they wait for a slower server.
    in_flight = 4096
  }

  phases {
    warmup = "1s"
    window = "5s"
    drain  = "10s"
  }

  rounds = 7

  invariant "conserved" {}
  invariant "isolated" {}
}

# How well the generator keeps a schedule: at the rate that it must sustain on two CPUs, it sends a
# task at most 1 ms late at the 99th percentile.
scenario "null-open" {
  title = "The generator alone, at 50,000 arrivals a second"
  tags  = ["generator", "open-load"]

  topology "none" {}

  workload "main" {
    driver    = "null"
    producers = 32
    workers   = 64
    payload   = fixed(64)
    arrivals  = rate("50k/s")
  }

  phases {
    warmup = "1s"
    window = "5s"
    drain  = "10s"
  }

  rounds = 7

  invariant "conserved" {}
}
