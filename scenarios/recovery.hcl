# How soon a server that was killed with a million waiting tasks serves again, and how fast it
# drains them. backlog.hcl has ten million. In the first scenario the server's files are in the page
# cache of the host, because only the process ended. In the second one they are only on the disk, as
# after a restart of the host. The third one has a thousand tasks instead of a million.

scenario "recovery" {
  title = "A kill with a million tasks waiting, and the restart, at durability none and sync"
  tags  = ["single-node"]

  include "shared/single.hcl" {}

  include "shared/batches.hcl" {}

  backlog {
    tasks   = 1000000
    restart = "kill"
    fill    = "2m"
    drain   = "2m"
  }

  rounds = 6

  sweep "topology.durability" { values = ["none", "sync"] }
}

scenario "recovery-cold" {
  title = "A kill with a million tasks waiting, and the restart on a cold page cache, at durability none and sync"
  tags  = ["single-node"]

  include "shared/single.hcl" {}

  include "shared/batches.hcl" {}

  backlog {
    tasks      = 1000000
    restart    = "kill"
    cold_cache = true
    fill       = "2m"
    drain      = "2m"
  }

  rounds = 6

  sweep "topology.durability" { values = ["none", "sync"] }
}

# The time of a start with almost nothing to recover.
scenario "recovery-small" {
  title = "A kill with a thousand tasks waiting, and the restart, at durability none and sync"
  tags  = ["single-node", "start"]

  include "shared/single.hcl" {}

  include "shared/batches.hcl" {}

  backlog {
    tasks   = 1000
    restart = "kill"
    fill    = "30s"
    drain   = "30s"
  }

  rounds = 6

  # This scenario measures the restart, which does not depend on a steady rate before it.
  validity { trend_percent_max = "any" }

  sweep "topology.durability" { values = ["none", "sync"] }
}
