baseline "whole" {
  configuration = "0c4e1772c5ee"

  floor "cycles_per_s" {
    min      = 20000
    observed = 180000
    on       = "2 cores, shared"
    because  = "a ninth of what shared cores do"
  }

  floor "cycles_per_s" {
    point             = "shards=4"
    relative_to_point = "shards=1"
    min               = 1.2
    observed          = 1.6
    on                = "4 cores"
    because           = "shards scale"
  }

  ceiling "cycle_latency_ms_p99" {
    max        = 250
    workload   = "one"
    unobserved = "the published run of 2026-01-02 has no such figure"
    because    = "a stall"
  }

  ceiling "storage_gets_per_cycle" {
    max     = 0
    because = "nothing is looked up"
  }
}

baseline "changed" {
  configuration = "111111111111"

  ceiling "dropped" {
    max      = 10
    observed = 0
    on       = "2 cores"
    because  = "the schedule is kept"
  }
}

baseline "gone" {
  ceiling "decay_percent" {
    max      = 3
    observed = 1.234567
    on       = "2 cores"
    because  = "the rate holds"
  }
}
