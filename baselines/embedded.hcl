# Limits of scenarios/embedded.hcl. They are tripwires: client and server share the CPUs, and a neighbour takes from both.

baseline "embedded" {
  configuration = "2e1d8b81221c"

  floor "cycles_per_s" {
    min     = 20000
    because = "far below what two shared cores do: trips on a break, not on a neighbour"
  }

  ceiling "cpu_us_per_cycle" {
    max     = 80
    because = "of both sides together: several times as much is a change of the code"
  }

  ceiling "cycle_latency_ms_p99" {
    max     = 250
    because = "a quarter of a second is a stall"
  }

  ceiling "server_rss_mb_max" {
    max     = 1024
    because = "of the whole process: more is growth with the number of tasks"
  }
}
