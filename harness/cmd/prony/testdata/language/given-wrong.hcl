# prony validate --var wrokers=1 --var workers=many --var list=3 --var on=yes --var window=3 --var spare=1 FILE
variable "workers" { default = 8 }
variable "window" { default = "1s" }
variable "list" { default = ["a"] }
variable "on" { default = false }
variable "Spare" { default = 1 }
scenario "given-wrong" {
  tags = var.list
  topology "single" {
    durability = "none"
    procs      = 1
    busy_poll  = var.on
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = var.workers
  }
  phases { window = var.window }
}
