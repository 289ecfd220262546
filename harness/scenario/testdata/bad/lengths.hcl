# Values that are too long, and sizes that are none.
scenario "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" {
  title = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  tags  = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"]
  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1
  topology "single" {
    durability = ("none")
  }
  workload "main" {
    driver    = "pigeons"
    producers = 1
    workers   = "${1e999999999}"
    lease     = "1e999999999${1e999999999}s"
    payload   = uniform(64.5, "manyB")
  }
  phases {
    window = "5s"
  }
}

scenario "sizes" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed("manyKiB")
  }
  phases {
    window = "5s"
  }
}

scenario "nested" {
  topology "single" {
    durability = "none"
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(fixed(64))
  }
  phases {
    window = "5s"
  }
}
