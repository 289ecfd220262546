# The phases of a knob's scenario, and what must hold in the end: for the scenarios of this folder to include.

phases {
  warmup     = "2s"
  warmup_max = "10s" # it goes on until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
