# How much reads slow down other work, and how long they take: the producers and workers of
# full-cycle.hcl without reads, and with each kind of reads at the same share. Two things differ
# from full-cycle.hcl. There are two tenants, so that every eighth read asks for another tenant's
# task or queue, which the server must refuse. And no connection polls: lists and queue figures go
# to the admin listener, whose connections never poll, so polling would make the kinds incomparable.

variable "share" { default = 0.01 } # share of reads among all enqueues and reads

scenario "reads" {
  title = "Create, claim and complete tasks, with reads of tasks, lists of a queue, reads of its figures, and waits for the end of tasks"
  tags  = ["single-node", "isolation"]

  include "shared/single.hcl" {}

  workload "main" {
    driver    = "stream"
    procs     = 1
    tenants   = 2
    producers = 32
    workers   = 128
    payload   = fixed(64)
    # reads is swept.
  }

  rounds = 6

  sweep "workload.main.reads" {
    values = [0, get(var.share), list(var.share), stats(var.share), await(var.share)]
  }
}
