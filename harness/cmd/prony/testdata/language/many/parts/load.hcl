# A load for others to include. A scenario is not in here.
workload "main" {
  driver    = "stream"
  producers = 1
  workers   = 1
}
phases {
  warmup = "1s"
  window = "1s"
}
