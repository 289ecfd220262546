# What the design has and this build does not is refused, never ignored.
scenario "not-built" {
  topology "raft" {
    durability = "sync"
  }
  workload "main" {
    driver    = "unary"
    producers = 1
    workers   = 1
    payload   = lognormal(64, 256)
    arrivals  = rate("50k/s")
  }
  workload "other" {
    driver    = "stream"
    producers = 0
    workers   = 1
  }
  phases {
    window = "5s"
  }
  sweep "workload.main.workers" {
    values = [1, 2, 4]
  }
  invariant "isolated" {}
  invariant "ordered" {}
  fault "kill" { target = leader()  at = "5s"  restart_after = "3s" }
}
