# Limits of scenarios/full-cycle-batch.hcl. Limits on rates and times are tripwires at a tenth to a
# quarter of the values of a host with two shared cores. The numbers of storage operations do not
# depend on the machine, and the data path guarantees them.

baseline "full-cycle-batch" {
  configuration = "900606268a8e"

  floor "cycles_per_s" {
    min      = 60000
    observed = 601500
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "far below the rate of two shared cores: a defect breaks the limit, a busy neighbour does not"
  }

  ceiling "cpu_us_per_cycle" {
    max      = 20
    observed = 2.818
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "both sides together: a busy host has doubled the CPU time of a cycle; several times as much means that the code changed"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 1000
    observed = 22.02
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "at a quarter of the floor, 16,384 tasks in flight take this long: more is a stall"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 0.1
    observed = 0.01101
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
    observed = 99.42
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
