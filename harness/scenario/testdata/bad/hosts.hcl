# Hosts that can't be.
scenario "alone" {
  topology "single" {
    durability = "none"
    hosts { round_trip = "2ms" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "nobody" {
  topology "none" {
    hosts {}
  }
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "one" {
  topology "raft" {
    nodes      = 1
    durability = "none"
    hosts { round_trip = "2ms" }
    hosts "second" {}
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "values" {
  topology "raft" {
    durability = "none"
    hosts {
      round_trip   = 2
      loss_percent = 51
      bandwidth    = "100Mb"
      jitter       = "1ms"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.hosts.delay" { values = ["1ms"] }
}

scenario "bounds" {
  topology "raft" {
    durability = "none"
    hosts {
      round_trip   = "2s"
      loss_percent = 0.0001
      bandwidth    = "1kbit"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "swept" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.hosts.round_trip" { values = ["1ms"] }
}

scenario "swept-wrong" {
  topology "raft" {
    durability = "none"
    hosts {}
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.hosts.round_trip" { values = ["1ms", "soon"] }
  sweep "topology.hosts.bandwidth" { values = ["1Mbit", 7] }
}

scenario "links" {
  topology "raft" {
    durability = "none"
    hosts { round_trip = "2ms" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  fault "delay" {
    target = leader()
    at     = "2s"
    for    = "2s"
    delay  = "5ms"
  }
}

scenario "attacked" {
  topology "raft" {
    durability = "none"
    hosts {}
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  attack { kinds = ["long-polls"] }
}

scenario "scripted" {
  topology "raft" {
    durability = "none"
    hosts {}
  }
  workload "main" {
    driver    = "k6"
    script    = "../k6/plan.js"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}
