# Everything that can be wrong with a block.
build "4e7acbc4" {
  date    = "2026-11-31"
  because = ""
  ratio "smoke" { cycles_per_s = 1.01 }
}

build "1111111111111111111111111111111111111111" {
  date   = "2026-11-28"
  becase = "misspelt"
}

build "1111111111111111111111111111111111111111" {
  date    = "2026-11-27"
  because = "the same commit, and an earlier date"
  ratio "smoke" {
    cycle_per_s  = 1.01
    lost         = 1
    cycles_per_s = 0
    storage_sets_per_cycle = 2e7
    cpu { us = 1 }
  }
  ratio "Smoke" {}
  ratio "smoke" { cycles_per_s = 1 }
}

build "2222222222222222222222222222222222222222" {
  date    = "2026-11-29"
  because = "slower"
  ratio "smoke" {
    cycles_per_s            = 0.94
    server_cpu_us_per_cycle = 1.1
  }
}

build "3333333333333333333333333333333333333333" {
  date         = "2026-11-30"
  because      = "faster"
  accept_creep = "nothing to accept"
  ratio "smoke" { cycles_per_s = 1.2 }
}
floor "cycles_per_s" { min = 3 }
