# A soak with everything that it may say.
scenario "soak" {
  topology "raft" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
  }
  phases { window = "10s" }
  fault "kill" {
    target        = leader()
    at            = "2s"
    restart_after = "3s"
  }
  soak {
    for               = "1h"
    faults_every      = 10
    drift_percent_max = 3
    keep {
      age  = "48h"
      size = "512MiB"
    }
    drift "disk_mb" {
      percent_max = 5
      because     = "compactions come in steps"
    }
  }
}
