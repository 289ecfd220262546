baseline "membership-change" {
  configuration = "39a7a5630a8b"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "a leader that is removed hands its lead over"
  }

  ceiling "not_recovered" {
    max     = 0
    because = "after each fault the rate comes back to four fifths of the rate before that fault"
  }

  ceiling "failed_calls" {
    max     = 0
    because = "the client finds the next leader by itself, and enqueues again under the keys of its tasks"
  }
}
