series { every = "0s" }
include "cycle-a.hcl" {}
