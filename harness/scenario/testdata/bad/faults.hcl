# Faults that contradict themselves, the cluster or the window.
scenario "themselves" {
  topology "raft" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "30s" }
  fault "kil" { target = leader()  at = "5s" }
  fault "kill" { at = "2s"  restart_after = "1s" }
  fault "kill" { target = "leader"  at = "2s" }
  fault "kill" { target = leadr()  at = "2s" }
  fault "kill" { target = node(1)  at = "2s" }
  fault "kill" { target = node("n4")  at = "2s" }
  fault "kill" { target = leader()  at = "500ms" }
  fault "kill" { target = leader()  at = "2s"  for = "3s" }
  fault "kill" { target = leader()  at = "2s"  times = 3 }
  fault "kill" { target = leader()  at = "2s"  every = "3s" }
  fault "kill" { target = leader()  at = "2s"  restart_after = "3s"  every = "3s"  times = 2 }
  fault "kill" { target = leader()  at = "2s"  times = 1001  every = "2s" }
  fault "pause" { target = leader()  at = "2s" }
  fault "wipe" { target = all()  at = "2s" }
  fault "member" { target = leader()  at = "3s"  for = "1s" }
  fault "membership" { target = all()  at = "2s"  for = "1s" }
  fault "partition" { target = leader()  at = "2s"  for = "1s"  direction = "up"  how = "cut" }
  fault "partition" { target = all()  at = "2s"  for = "1s"  direction = "in" }
  fault "delay" { target = leader()  at = "2s"  for = "1s" }
  fault "delay" { target = leader()  at = "2s"  for = "1s"  delay = "1m"  rate = "1MiB/s" }
  fault "bandwidth" { target = leader()  at = "2s"  for = "1s" }
  fault "bandwidth" { target = leader()  at = "2s"  for = "1s"  rate = "10MB/s" }
  fault "bandwidth" { target = leader()  at = "2s"  for = "1s"  rate = "100B/s" }
  fault "bandwidth" { target = leader()  at = "2s"  for = "1s"  rate = 100 }
}

scenario "overlapping" {
  topology "raft" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "20s" }
  fault "pause" { target = leader()  at = "10s"  for = "2s"  every = "3s"  times = 3 }
  fault "kill" { target = leader()  at = "2s"  restart_after = "8s" }
  fault "kill" { target = follower()  at = "18s"  restart_after = "500ms" }
}

scenario "too-many" {
  topology "raft" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "2h" }
  fault "kill" { target = leader()  at = "2s"  every = "3s"  times = 600 }
  fault "kill" { target = leader()  at = "1h"  every = "3s"  times = 600 }
}

scenario "small" {
  topology "raft" {
    nodes      = 1
    durability = "none"
  }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "30s" }
  fault "kill" { target = follower()  at = "2s" }
  fault "partition" { target = leader()  at = "5s"  for = "1s" }
  fault "membership" { target = leader()  at = "8s"  for = "1s" }
}

scenario "elsewhere" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1  arrivals = rate(0.5 * peak) }
  phases { window = "30s" }
  backlog { tasks = 100 }
  series { every = "1s" }
  capture "cpu" {}
  fault "kill" { target = leader()  at = "5s" }
}

scenario "idle" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver   = "stream"
    arrivals = none()
  }
  phases { window = "30s" }
  fault "kill" { target = leader()  at = "5s" }
}
