# prony explain FILE
# Settings of the server, written and swept, and how it is built.
scenario "settings" {
  topology "single" {
    durability = "none"
    settings {
      memory = "1GiB"
      storage { memtable_size = "8MiB" }
    }
    build {
      tags    = ["debug"]
      race    = true
      goamd64 = "v2"
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.settings.commit.tasks_max" { values = [32, 512] }
}
