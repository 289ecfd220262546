# Sweeps, an open load, a backlog and a series.
scenario "points" {
  topology "sharded" {
    durability = "none"
  }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 128 # swept
    arrivals  = rate(0.5 * peak)
    in_flight = 5000
  }
  phases { warmup = "1s"  window = "10s"  drain = "4s" }
  rounds = 2
  backlog {
    tasks     = 1000
    reference = 100
    restart   = "kill"
    fill      = "10s"
    drain     = "20s"
  }
  series { every = "500ms" }
  sweep "topology.shards" { values = [1, 4] }
  sweep "workload.main.workers" { values = [8, 64] }
  capture "mutex" {}
}

scenario "several" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "unary"
    producers = 2
    workers   = 2
  }
  phases { window = "10s" }
  sweep "topology.procs" { values = [1] }
  sweep "workload.main.procs" { values = [2] }
  sweep "workload.main.arrivals" { values = [closed(), rate("1.5k/s"), rate(peak * 1.5)] }
  sweep "workload.main.payload" { values = [fixed("1KiB")] }
}

scenario "nothing" {
  topology "single" { durability = "none" }
  workload "main" {
    driver   = "stream"
    arrivals = none()
  }
  phases { window = "10s" }
}
