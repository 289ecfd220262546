# Limits of scenarios/default.hcl. They are tripwires. The fsync latency of the disk determines most
# of the rate, and hosts differ in it by a factor of ten.

baseline "default" {
  configuration = "d50716fd6bf5"

  floor "cycles_per_s" {
    min      = 2000
    observed = 48940
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "32 calls share an fsync: a disk with an fsync of 10 ms and more reaches 2,000/s, and a busy neighbour costs less than that"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 200
    observed = 13.47
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "CPU time per cycle hardly depends on the disk, and is the first metric to show a change of the code"
  }

  ceiling "storage_fsyncs_per_cycle" {
    max      = 1
    observed = 0.06543
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "concurrent calls share a commit and its fsync: one or more fsyncs per task would mean no group commit"
  }

  ceiling "storage_sets_per_cycle" {
    max      = 2.5
    observed = 0.1465
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a fresh task is set once; its share of leases, queue records and commits is small, and does not depend on the machine"
  }

  ceiling "cycle_latency_ms_p99" {
    max      = 500
    observed = 3.015
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a task waits for a few fsyncs: half a second is a stall, or a broken disk"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 63.59
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
