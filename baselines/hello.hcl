# Limits of scenarios/hello.hcl: an example of both kinds, and what must never happen.

baseline "hello" {
  configuration = "3dab470f1817"

  floor "cycles_per_s" {
    min     = 500
    because = "sixteen calls wait for one fsync each way: fewer means that they no longer share it"
  }

  ceiling "cycle_latency_ms_p99" {
    max     = 1000
    because = "16 tasks in flight take 32 ms at the floor: more than a second is a stall"
  }

  ceiling "storage_fsyncs_per_cycle" {
    max     = 1
    because = "a cycle is three commands, and commands that wait together share an fsync: does not depend on the machine's speed"
  }
}
