# The server as a user gets it: `queued serve` without any settings, one task a call over gRPC
# streams, on all CPUs of the host, which the load generator shares. Each acknowledgement waits for
# the disk, because the server's default durability is "sync". Calls need an access token.

scenario "default" {
  title = "Create, claim and complete over gRPC streams, a server without any settings"
  tags  = ["single-node", "core"]

  references = ["bare"]

  # This does not set the durability. It checks the default: a server with another default does not
  # start.
  topology "single" {
    default_settings = true
    durability       = "sync"
  }

  # The load of full-cycle.hcl, without settings of the generator's process.
  workload "main" {
    driver    = "stream"
    producers = 32
    workers   = 128
    batch     = 1
    payload   = fixed(64)
    arrivals  = closed()
  }

  phases {
    warmup = "2s"
    window = "10s"
    drain  = "30s"
  }

  rounds = 7

  capture "cpu" {}
  capture "mutex" {}
  capture "block" {}
  capture "allocs" {}

  invariant "conserved" {}
}
