# Limits of scenarios/shard-scaling.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "shard-scaling" {
  configuration = "1f894c0f120b"

  floor "cycles_per_s" {
    min      = 30000
    observed = 433700
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "more shards cost something on few cores, but not most of the rate"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a queue that is drained as fast as it fills is served from memory, on each shard"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 372.5
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
