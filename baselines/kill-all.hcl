baseline "kill-all" {
  configuration = "af276d03386d"

  ceiling "fault_first_ack_ms_max" {
    max     = 10000
    because = "three starts with recovery, and an election"
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
