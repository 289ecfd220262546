baseline "partition-leader" {
  configuration = "26e86acbd8a9"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "an election among the others; clients that waited for the isolated node move to the new leader"
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
