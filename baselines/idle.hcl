# Limits of scenarios/idle.hcl: tripwires at ten times what it should be on a quiet host. A server that polls breaks them.

baseline "idle" {
  configuration = "aa1e5e22819e"

  ceiling "server_cpu_cores" {
    max     = 0.05
    because = "an idle server wakes for nothing: a poll of a millisecond would cost more than this"
  }

  ceiling "server_rss_mb_max" {
    max     = 200
    because = "empty queues hold nothing: the rest is the runtime and empty buffers of the store"
  }
}
