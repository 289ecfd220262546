# Latency under a load that does not wait for the server: the generator sends tasks at
# a fixed rate, and their latency counts from their due times. A stall therefore affects all tasks
# that should have been sent during it, and not only the calls that it delayed.
#
# The rate does not depend on the server, so a faster server does not get more work. 38,400/s is 0.3
# of the 128,000 cycles/s, one task a call, that a bare program with the same data path (one
# deciding goroutine, Pebble, gRPC streams, and nothing else) reached on the host of the baseline:
# two CPUs, which client and server share. On a faster or slower host, use --var rate=...

variable "rate" { default = "38.4k/s" }

scenario "open-half" {
  title = "Latency of a cycle over gRPC streams under open load at ${var.rate}"
  tags  = ["single-node", "core"]

  references = ["bare"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"
    procs      = 2 # with one CPU, flushes of memtables and tasks would alternate
  }

  workload "main" {
    driver      = "stream"
    procs       = 1
    connections = 1
    producers   = 128 # each has one call in flight: enough that a due task finds a free producer
    workers     = 128
    batch       = 1
    in_flight   = 50000 # tasks beyond that are dropped, and count as not done by the window's end
    payload     = fixed(64)
    arrivals    = rate(var.rate)
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  invariant "conserved" {}
}
