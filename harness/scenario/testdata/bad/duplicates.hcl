# Everything that may appear once, twice.
scenario "duplicates" {
  rounds = 1
  rounds = 2
  tags   = ["a", "a"]
  topology "single" {
    durability = "none"
  }
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases {
    window = "5s"
  }
  phases {
    window = "5s"
  }
  capture "cpu" {}
  capture "cpu" {}
  invariant "conserved" {}
  invariant "conserved" {}
}

scenario "duplicates" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases {
    window = "5s"
  }
}
