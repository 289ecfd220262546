# Limits of scenarios/default.hcl: tripwires. What the disk's fsync takes decides most of its rate, and hosts differ in that by a factor of ten.

baseline "default" {
  configuration = "d50716fd6bf5"

  floor "cycles_per_s" {
    min      = 2000
    observed = 48940
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "32 calls share an fsync: 2,000/s is what a disk with an fsync of 10 ms and more bears, and a neighbour takes less than that"
  }

  ceiling "server_cpu_us_per_cycle" {
    max      = 200
    observed = 13.47
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "CPU per cycle hardly depends on the disk, and is the first to show a change of the code"
  }

  ceiling "storage_fsyncs_per_cycle" {
    max      = 1
    observed = 0.06543
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "calls that wait at once share a commit and its fsync: one or more for each task is no group commit"
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
    because  = "caches and windows are bounded: more than this is growth with the number of tasks"
  }
}
