# Leases that nothing could judge.
scenario "exclusive" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "unary"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
  invariant "exclusive" { on = "workload.main" }
}

scenario "none" {
  topology "none" {}
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
  invariant "exclusive" {}
}
