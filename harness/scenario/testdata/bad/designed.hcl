# A whole scenario as it is designed: each part that is not built is refused, and nothing else.
scenario "full-cycle" {
  title = "Create, claim and complete over gRPC streams, one Pebble shard"
  tags  = ["smoke", "single-node"]

  topology "single" {
    shards     = 1
    durability = "none"
    listen     = "tcp"            # or "unix"
  }

  workload "main" {
    driver    = "stream"
    tenants   = 4
    queues    = 8
    producers = 32
    workers   = 128
    batch     = 64
    payload   = uniform(64, 256)  # bytes; also fixed(n), lognormal(median, p99)
    arrivals  = closed()          # or rate("50k/s"), rate(0.7 * peak), ramp("1k/s", "80k/s", "2m"), burst(...)
  }

  phases { warmup = "2s"  window = "10s"  drain = "30s" }
  rounds = 7
  sweep "workload.main.workers" { values = [1, 2, 4, 8, 16, 32, 64, 128] }

  capture "mutex" {}
  capture "block" {}
  capture "cpu"   {}

  invariant "conserved" {}          # enqueued = completed + ready + leased + delayed + dead
  invariant "isolated"  {}          # no task seen by another tenant
  invariant "ordered"   { on = "workload.main" }   # FIFO where the queue promises it

  fault "kill" { target = leader()  at = "5s"  restart_after = "3s" }
}
