# What group commit is worth on one node: the same load with one commit for all commands that waited, and with a commit for each
# command. Commits that are under way at the same time may share an fsync, also without group commit. group-commit-raft.hcl is the same on
# three nodes.

scenario "group-commit" {
  title = "One task per call on one node, with group commit and without"
  tags  = ["single-node", "ablation"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # A session sends what waits in one frame, which is one command. With few sessions the client would do what the server
  # is measured for, so there are many, with a handful of tasks each.
  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 128
    producers   = 512
    workers     = 512
    batch       = 1
    in_flight   = 4096
    payload     = fixed(64)
    arrivals    = closed()
  }

  rounds = 6

  # One task a call costs the generator about what it costs the server. The page says where the generator is the limit: there the rate with group
  # commit is at least what is shown.
  validity { generator_cpu_percent_max = "any" }

  sweep "topology.durability" { values = ["none", "interval", "sync"] }
  sweep "topology.settings.commit.group" { values = [true, false] }
}
