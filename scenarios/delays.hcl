# The cost of delayed tasks: the same load without delays, and with a tenth and half of the tasks
# due one second after their enqueue. The server sustains this rate easily, so the latency, which
# counts from the due time, shows how late tasks arrive.

variable "rate" { default = "12k/s" }

scenario "delays" {
  title = "Create, claim and complete tasks, a share of which becomes ready one second later"
  tags  = ["single-node", "open-load"]

  topology "single" {
    durability = "none"
    procs      = 1
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    queues    = 4
    producers = 64
    workers   = 64
    arrivals  = rate(var.rate)
    in_flight = 60000 # five seconds of its rate
    payload   = fixed(64)
    delay     = share("1s", 0) # swept
  }

  # The first delayed tasks become ready one second after the start.
  phases {
    warmup = "2s"
    window = "8s"
  }

  rounds = 6

  sweep "workload.main.delay" { values = [share("1s", 0), share("1s", 0.1), share("1s", 0.5)] }

  invariant "conserved" {}
  invariant "isolated" {}
}
