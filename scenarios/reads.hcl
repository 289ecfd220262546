# What reads cost the work beside them, and how long they take: the load of full-cycle.hcl without reads, and with each kind of reads at the same
# share. There are two tenants, so that every eighth read asks for another tenant's task or queue, which the server must refuse.

variable "share" { default = 0.01 } # of reads among the tasks that are enqueued and read
variable "window" { default = "5s" }

scenario "reads" {
  title = "Create, claim and complete tasks beside reads of tasks, lists of a queue, reads of its figures, and waits for the end of tasks"
  tags  = ["single-node", "isolation"]

  topology "single" {
    durability = "none"
    procs      = 1
    busy_poll  = true
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    busy_poll = true
    tenants   = 2
    producers = 32
    workers   = 128
    payload   = fixed(64)
    # reads is swept.
  }

  phases {
    warmup     = "2s"
    warmup_max = "10s"
    window     = var.window
  }

  rounds = 6

  sweep "workload.main.reads" {
    values = [0, get(var.share), list(var.share), stats(var.share), await(var.share)]
  }

  invariant "conserved" {}
  invariant "isolated" {}
}
