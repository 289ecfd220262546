scenario "third" {
  tags = ["raft", "smoke"]
  topology "raft" { durability = "none"  shards = 2 }
  include "../parts/load.hcl" {}
  rounds = 4
}
