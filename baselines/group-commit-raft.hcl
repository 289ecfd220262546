# Limits of scenarios/group-commit-raft.hcl. They apply to each of its points and are tripwires for
# two shared cores.

baseline "group-commit-raft" {
  configuration = "a68971b1d5e9"

  floor "cycles_per_s" {
    min      = 3000
    observed = 12020
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "a quarter of the slowest point: a slower run is broken, not noisy"
  }

  ceiling "server_rss_mb_max" {
    max      = 1500
    observed = 589.9
    on       = "AMD EPYC, 2 CPUs, 2026-11-26"
    because  = "caches, windows and memtables are bounded: more would be growth with the number of tasks"
  }
}
