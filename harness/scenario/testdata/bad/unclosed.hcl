scenario "unclosed" {
  topology "single" {
    durability = "none"
  workload "main" {
    driver = "stream"
  }
