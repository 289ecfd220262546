scenario "first" {
  title = "The first one"
  tags  = ["smoke"]
  topology "single" { durability = "none" }
  include "parts/load.hcl" {}
  rounds = 2
}

scenario "second" {
  tags = ["alone"]
  topology "single" { durability = "none" }
  include "parts/load.hcl" {}
}
