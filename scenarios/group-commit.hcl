# The gain of group commit on one node: the same load with one commit for all waiting commands, and
# with one commit for each command. Commits that run at the same time may share an fsync even
# without group commit. group-commit-raft.hcl is the same on three nodes.

scenario "group-commit" {
  title = "One task per call on one node, with group commit and without"
  tags  = ["single-node", "ablation"]

  include "shared/sweep.hcl" {}

  topology "single" {
    durability = "none"
    procs      = 1
  }

  # A session sends all waiting tasks in one frame, which is one command. With few sessions, the
  # client would do the grouping that this scenario measures in the server. So there are many
  # sessions with a few tasks each.
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

  # One task per call costs the generator about as much as the server. The page shows where the
  # generator is the limit: there the shown rate with group commit is a lower bound.
  validity { generator_cpu_percent_max = "any" }

  sweep "topology.durability" { values = ["none", "interval", "sync"] }
  sweep "topology.settings.commit.group" { values = [true, false] }
}
