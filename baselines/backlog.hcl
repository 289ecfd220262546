# Limits of scenarios/backlog.hcl: tripwires at two to ten times what it should be on a quiet host of two cores.

baseline "backlog" {
  configuration = "3585448bf189"

  ceiling "backlog_rss_mb_max" {
    max      = 1024
    observed = 230
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "memory does not follow the backlog: ten million tasks held in it would take more than this"
  }

  floor "drain_ratio" {
    min      = 0.2
    observed = 1.048
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "tasks that were pushed out of memory are read back in order, by range: far slower is a read for each"
  }

  floor "drain_small_ratio" {
    min      = 0.2
    observed = 0.6758
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "what the size of a backlog may cost the same work"
  }

  ceiling "restart_first_claim_s" {
    max      = 20
    observed = 0.4701
    on       = "AMD EPYC, 2 CPUs, 2026-11-21"
    because  = "recovery takes time in proportion to queues and leases and to the log since the last flush, not to the backlog"
  }
}
