# One server process with one shard. It has one CPU, and the generator another.

topology "single" {
  shards     = 1
  durability = var.durability
  procs      = 1
}
