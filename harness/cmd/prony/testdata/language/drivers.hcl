# prony validate FILE
# Mistakes with servers that are elsewhere, or nowhere.
scenario "none" {
  topology "none" { durability = "sync" }
  phases { window = "10s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  capture "cpu" {}
  backlog { tasks = 100 }
}
scenario "embedded" {
  topology "embedded" { durability = "sync"  listen = "tcp"  procs = 2 }
  phases { window = "10s" }
  workload "main" { driver = "unary"  producers = 1  workers = 1 }
}
scenario "single" {
  topology "single" { durability = "sync" }
  phases { window = "10s" }
  workload "a" { driver = "embedded"  producers = 1  workers = 1 }
  workload "b" { driver = "null"  producers = 1  workers = 1 }
}
