# The phases and invariants that the scenarios of the smoke set share. The phases are short because
# the whole set has three minutes.

phases {
  warmup = "1s"
  window = var.window
  drain  = "30s"
}

invariant "conserved" {}
invariant "exclusive" {}

# CI runs on shared machines. A neighbour slows both builds equally and must not fail the run, so an
# unfit host is only a warning. The long scenarios are strict.
validity { on_breach = "warn" }
