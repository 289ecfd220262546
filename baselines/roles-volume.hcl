# Limits of scenarios/roles/volume.hcl: tripwires for two shared cores.

baseline "roles-volume" {
  configuration = "fe9efe9bac6c"

  floor "cycles_per_s" {
    min      = 80000
    observed = 340700
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of what two shared cores did: what is slower is broken and not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 200
    observed = 79.56
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more is growth with the number of tasks"
  }
}
