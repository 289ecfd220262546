# Every kind of fault.
scenario "faults" {
  topology "raft" {
    nodes      = 5
    durability = "sync"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "2m" }
  fault "pause" {
    target = all()
    at     = "50s"
    for    = "2s"
  }
  fault "kill" { target = leader()  at = "1s" }
  fault "restart" {
    target = each()
    at     = "4s"
    every  = "2s"
    times  = 5
  }
  fault "wipe" { target = node("n5")  at = "20s"  restart_after = "250ms" }
  fault "partition" { target = leader()  at = "25s"  for = "1s"  direction = "in"  mode = "reset" }
  fault "delay" { target = follower()  at = "30s"  for = "1s"  delay = "50ms"  jitter = "10ms" }
  fault "bandwidth" { target = all()  at = "35s"  for = "1s"  rate = "512KiB/s" }
  fault "membership" { target = follower()  at = "40s"  for = "5s" }
}
