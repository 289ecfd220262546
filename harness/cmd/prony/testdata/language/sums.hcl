# prony validate FILE
# Mistakes with values that are calculated.
variable "n" { default = 8 }
locals {
  third = 1 / 3
  text  = "8"
  list  = [1, 2]
  huge  = 1e999
  deep  = ((((((1 + 2) * 3) - 4) / 5) + 6) * 7)
}
scenario "sums" {
  title = "${local.list} and %{ if true }more%{ endif }"
  tags  = ["a", "${local.third}"]
  topology "single" { durability = "none"  procs = var.n / 3 }
  workload "main" {
    driver      = "stream"
    producers   = var.n / 0
    workers     = local.text + 1
    batch       = local.list * 2
    queues      = local.huge * 2
    connections = var.n * 1000
    tenants     = -local.list
    payload     = fixed(var.n)
    arrivals    = rate(var.n + peak)
    lease       = var.n % 3
    procs       = local.list[2]
    seed        = var.n > 3 ? 1 : 2
    keys        = zipf("${local.huge}")
  }
  phases { window = 10 * var.n }
}
