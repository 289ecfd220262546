# What the scenarios of the smoke set share: short phases, and what must hold in the end. The whole set has three minutes.

phases {
  warmup = "1s"
  window = var.window
  drain  = "30s"
}

invariant "conserved" {}
invariant "exclusive" {}

# CI runs on shared machines. A neighbour slows both builds alike and must not fail the run, so an unfit host is only a warning. The long
# scenarios are strict.
validity { on_breach = "warn" }
