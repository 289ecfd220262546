# How a server handles bursts: a tenth of the peak, and four fifths of the peak for a quarter of a
# second in every two seconds. Tasks of a burst that the server cannot handle in time wait, and
# their latency counts from their due times.

scenario "burst" {
  title = "A tenth of the peak, with bursts of four fifths of it every two seconds"
  tags  = ["single-node", "open-load"]

  include "shared/single.hcl" {}

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 128
    workers   = 128
    payload   = fixed(64)
    arrivals  = burst(0.1 * peak, 0.8 * peak, "2s", "250ms")
    in_flight = 50000
  }

  rounds = 6

  # The generator shares two CPUs with the server, and in a burst both are busy.
  validity { slip_ms_p99_max = 10 }
}
