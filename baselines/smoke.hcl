# Limits of scenarios/smoke.hcl, which CI runs on shared machines. Ratios compare the build with the
# baseline build. Absolute limits are far from the figures of any working host.

baseline "smoke" {
  configuration = "ed4659f230ee"

  floor "cycles_per_s" {
    of_baseline = 0.93
    because     = "identical builds differ by 1 to 3 % over a few generations, so a loss of a tenth breaks it and noise does not"
  }

  floor "cycles_per_s" {
    min      = 5000
    observed = 138579
    on       = "2 cores, shared"
    because  = "a tenth of the rate of the slowest host, 50,000: a safety net for hosts that cannot measure the baseline build"
  }

  ceiling "server_cpu_us_per_cycle" {
    of_baseline = 1.07
    because     = "identical builds differ by 1 to 3 % over a few generations, so a tenth more breaks it and noise does not"
  }

  ceiling "cycle_latency_ms_p50" {
    of_baseline = 2
    because     = "the median under open load at a third of the rate. It depends on when the kernel wakes threads, and varies more than rates do"
  }

  ceiling "server_rss_mb_max" {
    of_baseline = 1.4
    because     = "caches and windows are bounded: a build that keeps something for each task grows by much more"
  }

  ceiling "server_rss_mb_max" {
    max      = 1024
    observed = 114
    on       = "2 cores, shared"
    because  = "caches and windows are bounded: more would be growth with the number of tasks"
  }
}
