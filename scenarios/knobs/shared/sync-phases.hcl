# The phases of a knob's scenario at durability sync. The server is slower until its log files reach
# their full size and are overwritten: an fsync of a growing file also waits for the file system's
# journal. That takes five seconds under these loads.

phases {
  warmup     = "8s"
  warmup_max = "16s" # the warm-up continues until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
