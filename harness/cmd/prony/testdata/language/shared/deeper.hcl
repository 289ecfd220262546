invariant "conserved" {}
invariant "isolated" {}
