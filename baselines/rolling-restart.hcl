baseline "rolling-restart" {
  configuration = "a14d5d0e5dc0"

  ceiling "fault_first_ack_ms_max" {
    max      = 3000
    observed = 1370
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a node that receives SIGTERM first transfers its leadership, so that cycles continue"
  }

  ceiling "not_recovered" {
    max     = 0
    because = "after each fault the rate recovers to four fifths of the rate before that fault"
  }

  ceiling "failed_calls" {
    max     = 0
    because = "the client finds the next leader and enqueues again under the keys of its tasks"
  }
}
