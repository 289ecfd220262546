# The first scenario of harness/README.md: small, and finished in half a minute.

scenario "hello" {
  title = "One task per call over gRPC streams, fsync before each acknowledgement"
  tags  = ["example"]

  topology "single" {
    durability = "sync" # when the server acknowledges; figures of different durabilities are not comparable
  }

  workload "main" {
    driver    = "stream"
    producers = 16
    workers   = 32
    payload   = uniform(64, 256)
    arrivals  = closed() # each producer sends its next call after the answer to the last one
  }

  phases {
    warmup = "1s"
    window = "2s"
    drain  = "10s"
  }
  rounds = 6

  capture "mutex" {}
  capture "block" {}
  capture "cpu" {}

  invariant "conserved" {}
}
