# The rate at which latency begins to rise: the rate grows evenly over the window, from almost
# nothing to four fifths of the peak that a closed round of the same workload reached just before.
# The series shows the rate over time.

scenario "ramp" {
  title = "A rate that grows over the window, from 1k/s to four fifths of the peak"
  tags  = ["single-node", "open-load"]

  include "shared/single.hcl" {}

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 128
    workers   = 128
    payload   = fixed(64)
    arrivals  = ramp("1k/s", 0.8 * peak, var.window)
    in_flight = 50000
  }

  series { every = "100ms" }

  rounds = 3

  # The rate grows by design, and the generator has the most work at the end of the window.
  validity {
    trend_percent_max = "any"
    slip_ms_p99_max   = 10
  }
}
