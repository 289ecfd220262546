# The phases of a knob's scenario at durability sync. The server is slower until the files of its log have their size and are written over: an fsync
# of a file that grows waits for the file system's journal too. That takes five seconds under these loads.

phases {
  warmup     = "8s"
  warmup_max = "16s" # it goes on until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
