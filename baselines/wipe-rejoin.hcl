baseline "wipe-rejoin" {
  configuration = "2ef23e875736"

  ceiling "fault_first_ack_ms_max" {
    max     = 3000
    because = "the loss of a follower does not interrupt service"
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
