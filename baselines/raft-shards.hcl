# Limits of scenarios/raft-shards.hcl. They apply to each of its points and are tripwires for two
# shared cores.

baseline "raft-shards" {
  configuration = "5eb67459d550"

  floor "cycles_per_s" {
    min      = 8000
    observed = 145100
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "more groups cost something on few cores, but not most of the rate"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0.0001275
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a queue that is drained as fast as it fills is served from memory, on each shard"
  }

  ceiling "server_rss_mb_max" {
    max      = 4096
    observed = 1660
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "the caches, windows and in-memory logs of the three nodes are bounded: more would be growth with the number of tasks"
  }
}
