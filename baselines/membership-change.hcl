baseline "membership-change" {
  configuration = "39a7a5630a8b"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "a leader that is removed transfers its leadership"
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
