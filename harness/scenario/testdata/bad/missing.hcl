# What has no default and is missing.
scenario "empty" {
}

scenario "no-attributes" {
  topology "single" {
  }
  workload "main" {
  }
  phases {
  }
}

scenario "no-labels" {
  topology {
    durability = "sync"
  }
  workload {
    driver = "stream"
  }
  phases "p" {
    window = "5s"
  }
  capture {
  }
  invariant "conserved" "twice" {
  }
}
