baseline "pause-leader" {
  configuration = "9073b32d8533"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "an election among the others; whoever waited for the paused one goes on there"
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
