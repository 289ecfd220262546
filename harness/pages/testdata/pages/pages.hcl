group "Begin" {
  page "one" { title = "Page one" }
}

group "Details" {
  page "two" { title = "Page two" }
}
