# prony explain FILE
scenario "attached" {
  topology "remote" {
    durability = "sync"
    node "n1" { address = "10.0.0.1:7070"  admin = "10.0.0.1:7071" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "20s" }
}
scenario "started" {
  topology "remote" {
    durability = "sync"
    tls        = true
    node "n1" { address = "10.0.0.1:1"  http = "10.0.0.1:2"  admin = "10.0.0.1:3"  peer = "10.0.0.1:4"  ssh = "me@h1"  dir = "/d" }
    node "n2" { address = "10.0.0.2:1"  http = "10.0.0.2:2"  admin = "10.0.0.2:3"  peer = "10.0.0.2:4"  ssh = "me@h2"  dir = "/d" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "20s" }
}
