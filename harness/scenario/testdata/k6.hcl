# A script puts the load on the servers; a swept one is read at each of its values.
scenario "k6" {
  title  = "What a script is handed"
  rounds = 3
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "k6/plan.js"
    procs     = 1
    tenants   = 2
    queues    = 3
    producers = 4
    workers   = 8
    batch     = 16
    payload   = fixed(128)
    arrivals  = rate("1k/s")
    in_flight = 500
    lease     = "1m"
  }
  phases {
    warmup = "1s"
    window = "5s"
  }
  sweep "workload.main.batch" { values = [1, 16] }
  series { every = "500ms" }
  capture "cpu" {}
  invariant "conserved" {}
  invariant "isolated" {}
}
