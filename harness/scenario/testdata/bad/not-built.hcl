# What the design has and this build does not is refused, never ignored.
scenario "not-built" {
  topology "regional" {
    durability = "sync"
  }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
    payload   = lognormal(64, 256)
    arrivals  = ramp("1k/s", "80k/s", "2m")
  }
  workload "other" {
    driver    = "stream"
    producers = -1
    workers   = 1
  }
  phases {
    window = "5s"
  }
  invariant "isolated" {}
  invariant "ordered" {}
  fault "kill" { target = leader()  at = "5s"  restart_after = "3s" }
}
