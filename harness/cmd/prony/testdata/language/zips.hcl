# prony validate FILE
# Mistakes with sweeps that advance together.
variable "many" { default = [1, 2, 3] }
variable "one" { default = 1 }
scenario "zips" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  zip {
    sweep "workload.main.producers" { values = var.many }
    sweep "workload.main.workers"   { values = [1, 2] }
  }
  zip {
    sweep "workload.main.batch" { values = [1, 2] }
  }
  zip "named" {
    sweep "workload.main.queues"  { values = [1, 2] }
    sweep "workload.main.tenants" { values = [1, 2] }
  }
  zip {
    sweep "workload.main.lease" { values = ["1s", "2s"] }
    sweep "workload.main.lease" { values = ["3s", "4s"] }
    sweep "workload.main.lost"  { values = [1, 2] }
    values = [1]
  }
  sweep "workload.main.seed"  { values = var.one }
  sweep "workload.main.keys"  { values = [var.one, 1] }
}
scenario "too-many" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  sweep "workload.main.batch" { values = [1, 2, 3, 4, 5, 6, 7, 8, 9] }
  zip {
    sweep "workload.main.queues"  { values = [1, 2, 3, 4, 5, 6, 7, 8] }
    sweep "workload.main.tenants" { values = [1, 2, 3, 4, 5, 6, 7, 8] }
  }
}
