baseline "partition-one-way" {
  configuration = "f6247bca676d"

  ceiling "fault_first_ack_ms_max" {
    max     = 5000
    because = "the leader steps down or is voted out, and the clients follow"
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
