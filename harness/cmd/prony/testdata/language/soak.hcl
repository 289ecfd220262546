# prony explain FILE
scenario "soaked" {
  topology "raft" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
    arrivals  = rate("100/s")
  }
  phases { window = "1m" }
  fault "kill" {
    target        = leader()
    at            = "10s"
    restart_after = "3s"
  }
  soak {
    for          = "1h"
    faults_every = 10
    drift "disk_mb" {
      percent_max = 5
      because     = "compactions come in steps"
    }
  }
  invariant "conserved" {}
}
