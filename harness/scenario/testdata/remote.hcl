# Servers on other hosts.
scenario "attached" {
  topology "remote" {
    durability = "sync"
    shards     = 4
    token_file = "token"
    ca         = "/etc/prony/ca.crt"
    tls_name   = "queue.example.org"
    node "a" { address = "10.0.0.1:7070"  http = "10.0.0.1:7080"  admin = "10.0.0.1:7071" }
    node "b" { address = "b.example.org:7070"  http = "b.example.org:7080"  admin = "b.example.org:7071" }
  }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "started" {
  topology "remote" {
    durability    = "interval"
    sync_interval = "20ms"
    procs         = 1
    busy_poll     = true
    node "n1" {
      address = "[::1]:7070"
      admin   = "[::1]:7071"
      ssh     = "ssh://me@10.0.0.1:2222"
      dir     = "/var/lib/prony"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "faults" {
  topology "remote" {
    durability = "sync"
    tls        = true
    node "n1" { address = "10.0.0.1:1"  http = "10.0.0.1:2"  admin = "10.0.0.1:3"  peer = "10.0.0.1:4"  ssh = "h1"  dir = "/d" }
    node "n2" { address = "10.0.0.2:1"  http = "10.0.0.2:2"  admin = "10.0.0.2:3"  peer = "10.0.0.2:4"  ssh = "h2"  dir = "/d" }
    node "n3" { address = "10.0.0.3:1"  http = "10.0.0.3:2"  admin = "10.0.0.3:3"  peer = "10.0.0.3:4"  ssh = "h3"  dir = "/d" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "30s" }
  fault "kill" { target = node("n2")  at = "5s"  restart_after = "3s" }
}
