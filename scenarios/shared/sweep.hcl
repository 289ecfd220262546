# The phases of a scenario that sweeps a setting, and what must hold in the end: for scenarios to include. The window is short, since each point
# has several, in turns with those of the other points.

phases {
  warmup     = "2s"
  warmup_max = "10s" # it goes on until the rate is steady
  window     = "5s"
  drain      = "30s"
}

invariant "conserved" {}
invariant "isolated" {}
