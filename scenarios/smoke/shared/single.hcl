# One server process with one shard. The server has one CPU, and the generator has another.

topology "single" {
  shards     = 1
  durability = var.durability
  procs      = 1
}
