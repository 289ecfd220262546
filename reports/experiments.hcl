# What was tried to make the hot path cheaper, kept or rejected, with what named it. Figures are of two shared, noisy
# cores, client and server on one machine, durability none unless said otherwise: trust ratios of alternating runs more
# than any one figure. "us" is CPU microseconds per cycle, both sides.

experiment "codec-without-reflection" {
  named_by   = "CPU profile: encoding and decoding of the streams' messages by reflection, one allocation per task"
  hypothesis = "generated encoders, hand-kept decoders and memory shared by the tasks of a frame cost a fraction of it"
  change     = "package wire: a gRPC codec for the queue service's messages, other messages by gRPC's own"
  effect     = "with the client's rework below: one task per call 9.9 us to 7.8 us, batches of 64 4.2 us to 2.4 us; runs before and after on a host under about the same load"
  kept       = true
}

experiment "client-without-per-task-objects" {
  named_by   = "CPU profile: the client's maps of held tokens, pooled calls, a message per task"
  hypothesis = "encoding calls straight into the frame and keeping leases by task saves allocations and cache misses"
  change     = "batcher encodes calls as they come; worker keeps held tasks by lease"
  effect     = "measured together with codec-without-reflection"
  kept       = true
}

experiment "accounts-told-once-per-commit" {
  named_by   = "six atomics per task for tenants' accounts, about 95 ns on a loaded host"
  hypothesis = "what is freed can be told once per queue and commit"
  change     = "queue counts what was freed and tells the account before it hands out leases, and at the flush"
  effect     = "not told apart from noise end to end; four of the six atomics per task are gone"
  kept       = true
}

experiment "workers-for-unary-calls" {
  named_by   = "CPU profile of unary.hcl: 14 % growing the stacks of new goroutines"
  hypothesis = "goroutines that are kept have the stack already"
  change     = "grpc.NumStreamWorkers(64)"
  effect     = "server 70 us to 62 us per cycle in three alternating pairs"
  kept       = true
}

experiment "room-for-a-whole-grant" {
  named_by   = "CPU profile of full-cycle-batch.hcl: 6 % in growslice under addLease"
  hypothesis = "allocating a grant's room at once saves the copies"
  change     = "room for min(credits, ready, 512)"
  effect     = "batches of 64: 2.7, 2.6, 2.7 us to 2.7, 2.3, 3.1 us in three alternating pairs: within the noise; the copies are gone from the profile"
  kept       = true
}

experiment "smaller-memtables" {
  named_by   = "stalls of 50 to 110 ms at each rotation of a 64 MiB memtable with GOMAXPROCS=1: the flush takes its time slices"
  hypothesis = "16 MiB shortens the stalls at the same cost"
  change     = "MemTableSize 64, 32, 16, 8 MiB"
  effect     = "hot cycles in one process: no difference (1.1 us each). A backlog of 3 million tasks drains at 128,000 to 160,000/s with 16 MiB against 192,000 to 211,000/s with 64, in alternating runs"
  kept       = false
}

experiment "collector-at-400-percent" {
  named_by   = "CPU profile: a fifth of the server in the collector"
  hypothesis = "little is live, so collecting less often costs little memory"
  change     = "GOGC 400 in queued, unless the environment says otherwise"
  effect     = "server CPU down by about a fifth"
  kept       = true
}

experiment "one-core-each" {
  named_by   = "scheduler and kernel time when both sides run two threads on two cores"
  hypothesis = "a core each saves the fight"
  change     = "procs = 1 for server and generator in the scenarios"
  effect     = "97,000 cycles/s at 12.3 us against 65,000 to 89,000 at 16 to 23 us, interleaved"
  kept       = true
}

experiment "frames-in-flight" {
  named_by   = "wake-ups between the processes: the closed loop leaves the cores idle a third of the time"
  hypothesis = "more, or fewer, frames under way fill the gaps"
  change     = "1, 2, 8 frames instead of 4; two connections; yielding until nothing more comes"
  effect     = "none beyond a noise of tens of percent"
  kept       = false
}
