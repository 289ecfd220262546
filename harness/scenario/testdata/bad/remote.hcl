# Mistakes with servers on other hosts.
scenario "none" {
  topology "remote" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "addresses" {
  topology "remote" {
    durability = "sync"
    nodes      = 3
    listen     = "unix"
    tls_name   = "queue"
    procs      = 2
    sync_interval = "1ms"
    tls        = true
    coalesce   = true
    token_file = "token"
    node "n1" { address = "10.0.0.1"  admin = "0.0.0.0:7071"  ssh = "" }
    node "n1" { address = "10.0.0.2:7070"  admin = "10.0.0.2:7070"  peer = "10.0.0.2:1" }
    node "N 3" { address = "10.0.0.3:0"  http = "10.0.0.2:7070"  admin = "host name:1"  dir = "/d" }
    node "n4" { adress = "10.0.0.4:7070" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "ssh" {
  topology "remote" {
    durability = "interval"
    token_file = "token"
    ca         = "ca.crt"
    node "n1" { address = "10.0.0.1:7070"  admin = "10.0.0.1:7071"  ssh = "-oProxyCommand=x"  dir = "/" }
    node "n2" { address = "10.0.0.2:7070"  http = "10.0.0.2:7072"  admin = "10.0.0.2:7071"  ssh = "h2"  dir = "d" }
    node "n3" { address = "10.0.0.3:7070"  http = "10.0.0.3:7072"  admin = "10.0.0.3:7071"  ssh = "h3"  dir = "/a b" }
  }
  workload "main" {
    driver    = "k6"
    script    = "../k6/plan.js"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  fault "partition" { target = node("n4")  at = "1s"  for = "2s" }
}

scenario "mixed" {
  topology "remote" {
    durability = "sync"
    node "n1" { address = "10.0.0.1:7070"  http = "10.0.0.1:7072"  admin = "10.0.0.1:7071" }
    node "n2" { address = "10.0.0.2:7070"  http = "10.0.0.2:7072"  admin = "10.0.0.2:7071"  ssh = "h2"  dir = "/d" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "parts" {
  references = ["cpu"]
  topology "remote" {
    durability = "sync"
    token_file = "token"
    node "n1" { address = "10.0.0.1:7070"  admin = "10.0.0.1:7071" }
  }
  workload "main" {
    driver    = "rest"
    producers = 1
    workers   = 1
    reads     = 0.5
  }
  phases { window = "10s" }
  backlog { tasks = 10 }
  invariant "exclusive" {}
  series { every = "1s" }
  attack { kinds = ["lists"] }
}

scenario "faults" {
  topology "remote" {
    durability = "sync"
    node "n1" { address = "10.0.0.1:7070"  http = "10.0.0.1:7072"  admin = "10.0.0.1:7071" }
    node "n2" { address = "10.0.0.2:7070"  http = "10.0.0.2:7072"  admin = "10.0.0.2:7071" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  fault "kill" { target = leader()  at = "1s" }
  fault "wipe" { target = leader()  at = "5s" }
}

scenario "elsewhere" {
  topology "single" {
    durability = "sync"
    ca         = "ca.crt"
    node "n1" { address = "10.0.0.1:7070" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}
