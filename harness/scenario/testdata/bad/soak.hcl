# Soaks that contradict themselves, or have parts that no soak measures.
scenario "own" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "1m" }
  soak {
    for               = "30s"
    faults_every      = 0
    drift_percent_max = -1
    every             = 10
    keep {
      age  = "7d"
      size = "1GB"
    }
    keep { size = "1MiB" }
    drift "disk" {
      percent_max = 5
      because     = "why"
    }
    drift "disk_mb" { because = "why" }
    drift "disk_mb" { percent_max = 5 }
  }
  soak { for = "1h" }
}

scenario "parts" {
  rounds     = 3
  references = ["cpu"]
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    reads     = 0.2
    arrivals  = rate(0.5 * peak)
  }
  phases { window = "500ms" }
  sweep "workload.main.batch" { values = [1] }
  backlog { tasks = 10 }
  series { every = "50ms" }
  capture "cpu" {}
  attack { kinds = ["long-polls"] }
  limit "cycles_per_s" {
    min     = 1
    because = "why"
  }
  soak {}
}

scenario "no-servers" {
  topology "none" {}
  workload "main" { driver = "null"  producers = 1  workers = 1 }
  phases { window = "10s" }
  soak {
    for          = "1h"
    faults_every = 2
    keep { size = "20000GiB" }
  }
}

scenario "which" {
  topology "raft" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "10s" }
  fault "kill" { target = leader()  at = "2s" }
  soak { for = "1h" }
}
