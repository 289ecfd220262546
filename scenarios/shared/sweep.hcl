# The phases and invariants of a scenario that sweeps a setting, for scenarios to include. The
# window is short because each point has several rounds, in turn with the rounds of the other
# points.

phases {
  warmup     = "2s"
  warmup_max = "10s" # the warm-up continues until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
invariant "isolated" {}
