# What the scenarios of the smoke set share: short phases, and what must hold in the end. The whole set has three minutes.

phases {
  warmup = "1s"
  window = var.window
  drain  = "30s"
}

invariant "conserved" {}
invariant "exclusive" {}

# CI runs on shared machines. Speed is judged beside the baseline build, so that a neighbour does not make it red; what the host did is in the
# result all the same. The long scenarios are strict.
validity { on_breach = "warn" }
