# Settings of the server that no settings block may have, or where there may be none.
scenario "owned" {
  topology "single" {
    durability = "none"
    settings {
      durability = "sync"
      shards     = 2
      listen     = "127.0.0.1:1"
      auth       = "off"
      cluster { heartbeat_timeout = "1s" }
      tls { cert = "a.pem" }
      memory = ["1GiB"]
      log {
        level  = null
        format = "a\nb"
        deeper {}
      }
      storage "x" { memtable_size = "1MiB" }
    }
    settings {}
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.settings.data" { values = ["a", "b"] }
}

scenario "clustered" {
  topology "raft" {
    durability = "none"
    settings {
      commit { group = false }
      cluster { coalesce = false }
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "inside" {
  topology "embedded" {
    durability = "none"
    settings { memory = "1GiB" }
  }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "default" {
  topology "single" {
    durability       = "sync"
    default_settings = true
    settings { memory = "1GiB" }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "nothing" {
  topology "none" {
    settings { memory = "1GiB" }
  }
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.settings.memory" { values = ["1GiB", "2GiB"] }
}

scenario "elsewhere" {
  topology "remote" {
    durability = "none"
    settings { memory = "1GiB" }
    node "n1" {
      address = "10.0.0.1:7070"
      admin   = "10.0.0.1:7071"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}
