# The cost and the guarantee of each durability: cycles per second, and the window of loss. A loss
# of power loses what the server acknowledged and no fsync covers: unsynced_tasks_max enqueues and
# completions, the oldest of which was acknowledged unsynced_ms_max ago. Both are 0 at durability
# "sync".

scenario "durability" {
  title = "The same load at durability none, interval and sync: rate and window of loss"
  tags  = ["single-node", "core"]

  references = ["bare"]

  # durability is swept. At durability interval, fsyncs are 10 ms apart.
  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 1
  }

  include "shared/batches.hcl" {}

  # At durability sync, an fsync takes longer until the log files reach their full size and are
  # overwritten.
  phases {
    warmup     = "8s"
    warmup_max = "16s" # the warm-up continues until the rate is steady
    window     = "10s"
    drain      = "30s"
  }

  # Rounds per point. The points alternate, so that drift of the host affects all points equally.
  rounds = 6

  sweep "topology.durability" { values = ["none", "interval", "sync"] }

  invariant "conserved" {}
}

# The same load at durability interval, with fsyncs 10 ms, 100 ms and 1 s apart. This is a separate
# scenario because sync_interval has no meaning at the other durabilities.
scenario "durability-interval" {
  title = "The same load at durability interval, with fsyncs 10 ms to 1 s apart: rate and window of loss"
  tags  = ["single-node", "core"]

  references = ["bare"]

  # sync_interval is swept.
  topology "single" {
    shards     = 1
    durability = "interval"
    listen     = "tcp"
    procs      = 1
  }

  include "shared/batches.hcl" {}

  # The window has ten of the longest intervals.
  phases {
    warmup     = "2s"
    warmup_max = "10s"
    window     = "10s"
    drain      = "30s"
  }

  rounds = 6

  sweep "topology.sync_interval" { values = ["10ms", "100ms", "1s"] }

  invariant "conserved" {}
}
