# The commit to which speed limits are relative. Written by `prony baseline move`.
build "4e7acbc4eff07ad4f44e3292ae640db8c880c679" {
  date    = "2026-11-28"
  because = "the first baseline build: the last commit before speed limits became relative to a build"
}

build "b8b70c956612942a0ac916d4f900350205821102" {
  date    = "2026-11-29"
  because = "server_cpu_us_per_cycle rose by 3 %: tasks have headers and unique keys, delayed tasks wait in the order of their due times, a cancellation reaches the worker, and queues have recurring tasks and counters of failures; storage_set_bytes_per_cycle: the record of a queue counts the due tasks of two lanes"
  ratio "compare" {
    server_cpu_us_per_cycle     = 1.0288
    client_cpu_us_per_cycle     = 0.99982
    cycles_per_s                = 0.98949
    cycle_latency_ms_p50        = 1.0044
    cycle_latency_ms_p99        = 0.92469
    storage_set_bytes_per_cycle = 1.0112
  }
}
