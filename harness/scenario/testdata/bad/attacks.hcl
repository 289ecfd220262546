scenario "unknown-kind" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  attack { kinds = ["long-pols"] }
}

scenario "no-kinds" {
  topology "single" {
    durability = "none"
    listen     = "unix"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  attack { clients = 65 }
}

scenario "nothing-to-sweep" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "attack.clients" { values = [0, 1] }
}
