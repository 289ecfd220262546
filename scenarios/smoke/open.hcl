# Latency under a load that does not wait for the server: tasks are due at a fixed rate, a small part of what a server bears.

variable "window" { default = "2s" }

scenario "smoke-open" {
  title  = "Latency of a cycle over gRPC streams under open load at 10k/s"
  tags   = ["smoke", "single-node"]
  rounds = 3

  references = ["cpu"]

  include "shared/short.hcl" {}

  topology "single" {
    shards     = 1
    durability = "none"
    procs      = 2 # with one, the flush of a memtable and the tasks alternate
  }

  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 128 # each has one call under way: enough that a task that is due finds one free
    workers   = 128
    in_flight = 50000 # what is due beyond that is dropped, and counted as not done by the window's end
    payload   = fixed(64)
    arrivals  = rate("10k/s")
  }

  limit "server_cpu_us_per_cycle" {
    relative_to = "cpu"
    max         = 60
    because     = "41.8 to 50.6 when nothing else ran, 38.6 beside a process that loads a core. A server that loses a quarter of its rate to CPU time costs a third more"
  }

  limit "dropped" {
    max     = 0
    because = "the rate is a tenth of what the server bears"
  }

  limit "cycle_latency_ms_p50" {
    max     = 3
    because = "0.4 ms: a cycle waits for three commits and nothing else"
  }

  limit "cycle_latency_ms_p99" {
    max     = 50
    because = "1.6 to 3.2 ms. Many times as much is a stall, or a backlog that grows"
  }

  limit "server_goroutines_max" {
    max     = 1000
    because = "some for each connection and stream. More would be growth with the number of calls"
  }

  limit "server_rss_mb_max" {
    max     = 200
    because = "57 MB. Caches and windows are bounded: more would be growth with the number of tasks"
  }
}
