# Limits of scenarios/full-cycle-sync.hcl. The rate depends on the fsync of the disk: the floor is
# one that a slow disk reaches.

baseline "full-cycle-sync" {
  configuration = "06b751d55fbc"

  floor "cycles_per_s" {
    min      = 20000
    observed = 519400
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "batches share an fsync: a rate this low means one fsync for each batch, or worse"
  }

  ceiling "cpu_us_per_cycle" {
    max      = 20
    observed = 3.08
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "waiting for fsync takes no CPU time: a cycle costs hardly more than without"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 0.1
    observed = 0.01072
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a task that ends soon is only in the log: only the queues' records, and the few tasks and leases that outlive their log, are set"
  }

  ceiling "storage_gets_per_cycle" {
    max      = 0.05
    observed = 0
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a queue that is drained as fast as it fills is served from memory: nothing is read back"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 100.7
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
