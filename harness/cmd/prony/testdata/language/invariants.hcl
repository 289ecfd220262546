# prony validate FILE
# Mistakes with invariants: an order that nothing could show is refused.
scenario "unseen" {
  topology "sharded" { durability = "none"  shards = 2 }
  phases { window = "10s" }
  workload "main" { driver = "stream"  producers = 1  workers = 8  tenants = 2 }
  invariant "ordered" {}
  invariant "isolated" { on = "workload.main" }
  invariant "isolated" {}
  invariant "order" {}
  invariant "conserved" { at = "the end" }
}
scenario "which" {
  topology "raft" { durability = "none" }
  phases { window = "10s" }
  workload "one" { driver = "stream"  producers = 1  workers = 1 }
  workload "two" { driver = "stream"  producers = 1  workers = 1 }
  invariant "ordered" {}
  invariant "ordered" { on = "workload.tow" }
  invariant "ordered" { on = "workload.two" }
  invariant "ordered" { on = 2 }
  fault "kill" { target = leader()  at = "5s"  restart_after = "1s" }
}
