# Limits of scenarios/open-half.hcl. At half of the peak nothing should wait long, whatever the peak of the host is.

baseline "open-half" {
  ceiling "cycle_latency_ms_p99" {
    max     = 100
    because = "latency counts from when a task was due: a stall of two tenths of a second in each ten shows here"
  }

  ceiling "dropped" {
    max     = 0
    because = "50,000 tasks in flight are half a second of the load and more: a server that keeps up has a hundredth of that"
  }

  floor "cycles_per_s" {
    min     = 10000
    because = "half of a peak of 20,000, which is the floor of smoke.hcl"
  }

  ceiling "server_rss_mb_max" {
    max     = 1024
    because = "caches and windows are bounded: more than this is growth with the number of tasks"
  }

  ceiling "lost" {
    max     = 0
    because = "an acknowledged task is never lost"
  }

  ceiling "duplicated" {
    max     = 0
    because = "a task is completed once"
  }

  ceiling "corrupted" {
    max     = 0
    because = "a payload is claimed as it was enqueued"
  }
}
