# What the scenarios of the smoke set share: short phases, and what must hold in the end. The whole set has three minutes.

phases {
  warmup = "1s"
  window = var.window
  drain  = "30s"
}

invariant "conserved" {}
invariant "exclusive" {}

# CI runs on shared machines. Limits are relative to references that were measured beside the rounds, so that a neighbour does not break them;
# what the host did is in the result all the same. The long scenarios are strict.
validity { on_breach = "warn" }
