# The pages of the set, in the order of the index. README.md in this folder explains how to write a
# page.

group "Start here" {
  page "overview" { title = "Overview: rate, durability, replication and limits" }
  page "choosing-a-deployment" { title = "Choosing a deployment" }
}

group "One node" {
  page "single-node" { title = "Throughput of one node" }
  page "anatomy-of-a-cycle" { title = "The anatomy of a cycle" }
  page "serial-budget" { title = "The serial budget of a shard" }
  page "concurrency" { title = "Producers, workers and queues" }
  page "shards" { title = "Shards: when more of them pay" }
  page "durability" { title = "Durability, and the data that a loss of power loses" }
  page "tuning" { title = "Tuning: what each setting changes" }
  page "workloads" { title = "Payloads, priorities, delays, retries and reads" }
  page "open-load" { title = "Latency under open load" }
  page "recovery" { title = "Recovery, backlogs and memory" }
  page "tenants" { title = "Many tenants on one shard" }
  page "noisy-neighbours" { title = "A quiet tenant with noisy neighbours" }
}

group "Three nodes" {
  page "cost-of-high-availability" { title = "The cost of high availability" }
  page "three-hosts" { title = "Three hosts: round trip, loss and bandwidth" }
}

group "Over time" {
  page "faults" { title = "Killed leaders and rolling restarts" }
  page "soak" { title = "Twenty minutes under load: what drifts" }
}

group "Comparison" {
  page "peers" { title = "Other queue servers under the same load" }
  page "peers-guarantees" { title = "Other queue servers without an fsync, and at a kill" }
}

group "The instrument" {
  page "bench-harness" { title = "How the harness measures, and the cost of measuring" }
}
