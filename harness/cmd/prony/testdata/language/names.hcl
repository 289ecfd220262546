# prony validate FILE
# Mistakes with names.
variable "workers" { default = 8 }
variable "workers" { default = 9 }
variable "none" {}
variable "made" { default = 2 * var.workers }
variable "calls" { default = fixed(64) }
variable "null" { default = null }
variable "what" { default = 1  type = "number" }
variable { default = 1 }
locals "named" {
  half   = var.workers / 2
  a      = local.b
  b      = local.c + 1
  c      = local.a
  Upper  = 1
  two-b  = 2
  empty  = null
  obj    = { a = 1 }
  any    = var.workers == 8
  inner { x = 1 }
}
locals { half = 3 }
scenario "names" {
  title = "${var.worker} workers"
  tags  = local.tags
  topology "single" { durability = none.such }
  workload "main" {
    driver    = "stream"
    producers = var.workers-1
    workers   = local.halve
    batch     = var
    queues    = var.workers.more
    tenants   = var.workers[0]
    lease     = "${path.module}"
  }
  phases { window = "${var.made}s" }
}
