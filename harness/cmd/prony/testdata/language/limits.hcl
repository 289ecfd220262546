# prony validate FILE
# Mistakes with limits: those of the language and those that take the metrics are listed in one pass.
scenario "limited" {
  topology "sharded" { durability = "none"  shards = 1 }
  phases { window = "10s" }
  workload "one" { driver = "stream"  producers = 1  workers = 1 }
  workload "two" { driver = "stream"  producers = 1  workers = 1 }
  sweep "topology.shards" { values = [1, 2] }
  limit "cycle_per_s" { min = 20  because = "misspelt" }
  limit "cycles_per_s" { max = 20  because = "the wrong side" }
  limit "cpu_us_per_cycle" { min = 20  because = "the wrong side" }
  limit "server_rss_mb_max" { because = "no bound" }
  limit "server_cpu_us_per_cycle" { min = 1  max = 2  because = "both" }
  limit "client_cpu_us_per_cycle" { max = 0  because = "0 is no measurement of it" }
  limit "storage_gets_per_cycle" { max = 0  because = "0 is one of this" }
  limit "storage_gets_per_cycle" { max = 1  because = "twice" }
  limit "lost" { max = 1  because = "may not be loosened" }
  limit "cycle_latency_ms_p99" { max = 5  point = "shards=3"  workload = "tow"  because = "no such names" }
  limit "cycle_latency_ms_p90" { max = 5  point = "shards=2"  relative_to_point = "shards=2"  because = "its own" }
  limit "cycle_latency_ms_p50" { max = 5  observed = 6  on = "2 cores"  because = "never held" }
  limit "enqueue_latency_ms_p50" { max = 5  observed = 4  reason = "x" }
  limit { max = 5  because = "no metric" }
}
scenario "single" {
  topology "single" { durability = "none" }
  phases { window = "10s" }
  workload "one" { driver = "stream"  producers = 1  workers = 1 }
  limit "cycle_latency_ms_p99" { max = 5  point = "shards=3"  workload = "one"  because = "there is nothing to choose from" }
}
