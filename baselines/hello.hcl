# Limits of scenarios/hello.hcl: an example of a floor and a ceiling, and of events that must never
# happen.

baseline "hello" {
  configuration = "3dab470f1817"

  floor "cycles_per_s" {
    min     = 500
    because = "sixteen enqueues and sixteen completions share an fsync each: a lower rate means that they no longer share it"
  }

  ceiling "cycle_latency_ms_p99" {
    max     = 1000
    because = "at the floor, 16 tasks in flight take 32 ms: more than a second is a stall"
  }

  ceiling "storage_fsyncs_per_cycle" {
    max     = 1
    because = "a cycle is three commands, and commands that wait together share an fsync: this does not depend on the machine's speed"
  }
}
