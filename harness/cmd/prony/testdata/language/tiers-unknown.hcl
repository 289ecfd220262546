# prony validate --var scale=XXXL FILE
# A tier that no entry is for.
variable "scale" { default = "S" }

locals {
  tasks   = { S = 10000, M = 100000, L = 1000000, XL = 10000000 }[var.scale]
  workers = { S = 8, M = 32, L = 64, XL = 128 }[var.scale]
}

scenario "tiers" {
  title = "A backlog of tier ${var.scale}"
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = local.workers
    workers   = local.workers
    batch     = { S = 1, M = 16, L = 64, XL = 64 }[var.scale]
  }
  backlog { tasks = local.tasks }
  phases { window = "10s" }
}
