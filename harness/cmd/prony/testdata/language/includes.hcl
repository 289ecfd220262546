# prony validate FILE
# Mistakes with includes, and in what is included.
scenario "includes" {
  include "shared/base.hcl" {}
  include "shared/base.hcl" {}
  include "shared/nowhere.hcl" {}
  include "shared" {}
  include "/etc/hostname" {}
  include "../../language_test.hcl" {}
  include "scripts/one.js" {}
  include {}
  include "shared/wrong.hcl" { workers = 2 }
  include "shared/cycle-a.hcl" {}
  include "includes.hcl" {}
  workload "main" { driver = "stream"  producers = 1  workers = var.workers }
}
include "shared/base.hcl" {}
