# Mistakes of a file that is included are said with its own lines.
rounds = 3
variable "workers" { default = 1 }
locals { half = var.workers / 2  lost = local.halves }
capture "cpus" {}
scenario "inner" {}
phases { window = "ten seconds" }
