# Limits of scenarios/transports.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "transports" {
  configuration = "125e49f63dc2"

  floor "cycles_per_s" {
    min      = 3000
    observed = 9476
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the rate of the slowest transport, REST with one task a call"
  }

  ceiling "server_rss_mb_max" {
    max      = 400
    observed = 125
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
