# prony validate FILE
# Settings that the server does not have, and values that it refuses.
scenario "settings-wrong" {
  topology "single" {
    durability = "none"
    settings {
      memtable_size = "8MiB"
      memry         = "1GiB"
      nonsense      = 1
      storage {
        memtable_size    = "1KiB"
        block_cache_size = true
      }
      commit { group = "off" }
    }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  sweep "topology.settings.commit.tasks_max" { values = [32, 0] }
}
