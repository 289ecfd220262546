# Builds of the server that cannot be.
scenario "wrong" {
  topology "single" {
    durability = "none"
    build {
      tags    = ["a b"]
      race    = "yes"
      pgo     = "missing.pgo"
      goamd64 = "v5"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "nothing-said" {
  topology "single" {
    durability = "none"
    build {}
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
    build { race = true }
  }
  workload "main" {
    driver    = "embedded"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "nothing" {
  topology "none" {
    build { race = true }
  }
  workload "main" {
    driver    = "null"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}

scenario "elsewhere" {
  topology "remote" {
    durability = "none"
    build { race = true }
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

scenario "swept" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.build.race" { values = [true, false] }
}
