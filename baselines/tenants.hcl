# Limits of scenarios/tenants.hcl. They apply to each of its points and are tripwires for two shared
# cores.

baseline "tenants" {
  configuration = "706685fb9f8f"

  floor "cycles_per_s" {
    min      = 15000
    observed = 48320
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  floor "tenant_fairness" {
    point    = "tenants=20"
    min      = 0.95
    observed = 1
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "Jain's index of the cycles of the tenants: a lower value means that others displace a tenant"
  }

  floor "tenant_fairness" {
    point    = "tenants=100"
    min      = 0.95
    observed = 1
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "Jain's index of the cycles of the tenants: a lower value means that others displace a tenant"
  }

  floor "tenant_fairness" {
    point    = "tenants=1000"
    min      = 0.95
    observed = 0.9995
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "Jain's index of the cycles of the tenants: a lower value means that others displace a tenant"
  }

  ceiling "server_rss_mb_max" {
    max      = 1000
    observed = 314.7
    on       = "Intel(R) Xeon(R) Processor, 2 CPUs, 2026-11-27"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
