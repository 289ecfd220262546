# Misspelt and unknown names, at every level. What a misspelt name holds is checked all the same.
rounds = 3

scenarios "outer" {
}

baseline "x" {
}

scenario "names" {
  titel  = "A misspelt attribute"
  phases = "a block written as an attribute"
  colour = "blue"

  rounds {
  }

  topolgy "single" {
    durabilty = "sink"
  }
  workload "main" {
    driver    = "streem"
    produces  = 0
    workers   = 4
    payload   = fixd(64)
    keys      = turn()
    arrivals  = close()
  }
  phase {
    window = 5
  }
  capture "mutexes" {}
  capture "heap" {}
  capture "cpu" { rate = 3 }
  invariant "conserve" { tasks = "all" }
}
