# Limits of scenarios/backlog.hcl. They are tripwires at two to ten times the expected values on a
# quiet host of two cores.

baseline "backlog" {
  configuration = "3585448bf189"

  ceiling "backlog_rss_mb_max" {
    max      = 1024
    observed = 230
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "memory does not grow with the backlog: ten million tasks in memory would take more than this"
  }

  floor "drain_ratio" {
    min      = 0.2
    observed = 1.048
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "tasks that were evicted from memory are read back in order, by range: a far slower drain means one read per task"
  }

  floor "drain_small_ratio" {
    min      = 0.2
    observed = 0.6758
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "the maximum cost of a large backlog for the same work"
  }

  ceiling "restart_first_claim_s" {
    max      = 20
    observed = 0.4701
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "the time of a recovery is proportional to the queues, the leases and the log since the last flush, not to the backlog"
  }
}
