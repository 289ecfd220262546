# prony explain --var workers=32 --var window=3s --var list=[8,"all"] --var on=true FILE
variable "workers" { default = 8 }
variable "window" { default = "1s" }
variable "list" { default = ["a"] }
variable "on" { default = false }
scenario "given" {
  tags = ["one", var.list[1]]
  topology "single" {
    durability = "none"
    procs      = 1
    busy_poll  = var.on
  }
  workload "main" {
    driver    = "stream"
    producers = var.list[0]
    workers   = var.workers
  }
  phases { window = var.window }
}
