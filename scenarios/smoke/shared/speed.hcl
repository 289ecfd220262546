# Speed relative to the baseline build, which `make perf-smoke` measures at the same time: see
# ../../../baselines/README.md. These limits hold for each scenario that both builds run as a duet.

limit "cycles_per_s" {
  of_baseline = 0.93
  because     = "identical builds differ by 1 to 3 % over a few generations, so a loss of a tenth breaks the limit and noise does not"
}

limit "server_cpu_us_per_cycle" {
  of_baseline = 1.07
  because     = "identical builds differ by 1 to 3 % over a few generations, so an increase by a tenth breaks the limit and noise does not"
}

limit "cycle_latency_ms_p50" {
  of_baseline = 2
  because     = "the median under open load at a third of the rate. It depends on when the kernel wakes threads, and varies more than rates do"
}

limit "server_rss_mb_max" {
  of_baseline = 1.4
  because     = "caches and windows are bounded: a build that retains memory for each task grows by much more"
}

limit "server_goroutines_max" {
  of_baseline = 1.5
  because     = "a few goroutines for each connection and stream. A build that leaks one for each call has several times as many within seconds"
}

limit "server_goroutines_max" {
  max     = 1000
  because = "a few for each connection and stream. More would be growth with the number of calls"
}
