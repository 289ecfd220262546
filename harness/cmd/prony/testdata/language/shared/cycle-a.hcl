include "cycle-b.hcl" {}
