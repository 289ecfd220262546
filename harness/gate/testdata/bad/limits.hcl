# Everything that can be wrong with a baseline.
baseline "smoke" {
  floor "cycles_per_s" {
    min = 0
  }
  floor "cycle_per_s" {
    min     = 3
    because = "misspelt"
  }
  floor "cycles_per_s" {
    min     = 2
    because = "given twice"
  }
  floor "lost" {
    min     = 1
    because = "the wrong side"
  }
  ceiling "enqueue_latency_ms_n" {
    max     = 1
    because = "the wrong side"
  }
  ceiling "cycle_latency_ms_max" {
    max     = 1
    because = "a single sample"
  }
  ceiling "cycle_latency_ms_p99" {
    max      = 0
    observed = 3
    because  = "0 is for counts of tasks at fault only"
  }
  ceiling "cycle_latency_ms_p50" {
    max      = 2
    observed = 3
    on       = "2 cores"
    because  = "observed beyond the ceiling"
  }
  floor "enqueue_latency_ms_n" {
    min      = 2
    observed = 1
    on       = "2 cores"
    because  = "observed beyond the floor"
  }
  ceiling "server_rss_mb_max" {
    max     = -5
    on      = "2 cores"
    because = " "
  }
  ceiling "cpu_us_per_cycle" {
    min     = 5
    because = "the wrong attribute"
  }
  ceiling "corrupted" {
    max     = "0"
    because = 7
    host    = "ci"
  }
  floor "cycle_latency_ms_n" {
    of_baseline = 1.15
    because     = "the baseline build breaks it"
  }
  ceiling "server_cpu_us_per_cycle" {
    max     = 1e999
    because = "not finite"
  }
  floor "drain_cycles_per_s" {
    of_baseline = 0.9
    min         = 15
    because     = "two bounds"
  }
  ceiling {
    max     = 1
    because = "no metric"
  }
  flor "settle_latency_ms_n" {
    max     = 1
    because = "a misspelt block is checked all the same"
  }
}

baseline "nothing" {
}

baseline "smoke" {
  floor "cycles_per_s" { min = 1  because = "a second baseline" }
}

scenario "smoke" {
}

baseline "neighbours" {
  ceiling "cpu_us_per_cycle" {
    of_baseline = 0.9
    because     = "the baseline build breaks it"
  }
  ceiling "lost" {
    of_baseline = 1
    because     = "a task at fault is one too many"
  }
  ceiling "decay_percent" {
    of_baseline = 1.2
    because     = "it has bounds"
  }
  floor "cycles_per_s" {
    of_baseline = 0.9
    workload    = "main"
    because     = "it is of all"
  }
}
