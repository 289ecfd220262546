# The phases and invariants of a knob's scenario, for the scenarios of this folder to include.

phases {
  warmup     = "2s"
  warmup_max = "10s" # the warm-up continues until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
