# What the tests of this package measure on servers that they make up.
scenario "soaked" {
  title = "A soak of made-up windows"
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  soak { for = "20m" }
  invariant "conserved" {}
}
