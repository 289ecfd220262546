baseline "slow-link" {
  configuration = "e2bc1de239ab"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "slow links do not interrupt service"
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
