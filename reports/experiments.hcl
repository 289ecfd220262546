# Attempts to make the hot path cheaper, kept or rejected, with the evidence that led to each.
# Figures are from two shared, noisy cores with client and server on one machine, at durability none
# unless stated otherwise: trust ratios of alternating runs more than any single figure. "us" is CPU
# microseconds per cycle, both sides. Entries with a ratchet block are from `prony ratchet`, which
# appends to this file.

experiment "codec-without-reflection" {
  named_by   = "CPU profile: encoding and decoding of the streams' messages by reflection, one allocation per task"
  hypothesis = "generated encoders, hand-written decoders and memory shared by the tasks of a frame cost a fraction of it"
  change     = "package wire: a gRPC codec for the queue service's messages, other messages by gRPC's own"
  code       = "engine/wire/codec.go: func (c codec) Marshal"
  effect     = "together with the client's rework below: one task per call 9.9 us to 7.8 us, batches of 64 4.2 us to 2.4 us; runs before and after, with about the same load on the host"
  kept       = true
}

experiment "client-without-per-task-objects" {
  named_by   = "CPU profile: the client's maps of held tokens, pooled calls, a message per task"
  hypothesis = "encoding calls directly into the frame and storing leases by task saves allocations and cache misses"
  change     = "the batcher encodes calls as they arrive; the worker stores held tasks by lease"
  code       = "engine/client/batcher.go: type batcher"
  effect     = "measured together with codec-without-reflection"
  kept       = true
}

experiment "accounts-told-once-per-commit" {
  named_by   = "six atomics per task for tenants' accounts, about 95 ns on a loaded host"
  hypothesis = "freed quota can be reported once per queue and commit"
  change     = "the queue counts freed quota and reports it to the account before it hands out leases, and at the flush"
  code       = "engine/queue/account.go: func (ac *accounts) reportFreed"
  effect     = "no difference beyond noise end to end; four of the six atomics per task are gone"
  kept       = true
  kept_for   = "four of six atomics per task are gone, and one place updates an account"
}

experiment "workers-for-unary-calls" {
  named_by   = "CPU profile of unary.hcl: 14 % growing the stacks of new goroutines"
  hypothesis = "reused goroutines already have a large stack"
  change     = "grpc.NumStreamWorkers(64)"
  code       = "engine/rpc/server.go: grpc.NumStreamWorkers"
  effect     = "server 70 us to 62 us per cycle in three alternating pairs"
  kept       = true
}

experiment "room-for-a-whole-grant" {
  named_by   = "CPU profile of full-cycle-batch.hcl: 6 % in growslice under addLease"
  hypothesis = "allocating the whole capacity for a grant saves the copies"
  change     = "capacity for min(credits, ready, 512)"
  code       = "engine/queue/grant.go: const grantRoom"
  effect     = "batches of 64: 2.7, 2.6, 2.7 us to 2.7, 2.3, 3.1 us in three alternating pairs: within the noise; the copies are gone from the profile"
  kept       = true
  kept_for   = "the copies in the profile are gone, at no cost"
}

experiment "smaller-memtables" {
  named_by   = "stalls of 50 to 110 ms at each rotation of a 64 MiB memtable with GOMAXPROCS=1: the flush runs in whole time slices"
  hypothesis = "16 MiB shortens the stalls at the same cost"
  change     = "MemTableSize 64, 32, 16, 8 MiB"
  effect     = "hot cycles in one process: no difference (1.1 us each). A backlog of 3 million tasks drains at 128,000 to 160,000/s with 16 MiB against 192,000 to 211,000/s with 64, in alternating runs"
  kept       = false
}

experiment "collector-at-400-percent" {
  named_by   = "CPU profile: a fifth of the server's CPU time is garbage collection"
  hypothesis = "the live heap is small, so less frequent collections cost little memory"
  change     = "GOGC 400 in queued, unless the environment sets another value"
  code       = "engine/cmd/queued/serve.go: const gcPercent"
  effect     = "server CPU down by about a fifth"
  kept       = true
}

experiment "one-core-each" {
  named_by   = "scheduler and kernel time when both sides run two threads on two cores"
  hypothesis = "one core each avoids the contention"
  change     = "procs = 1 for server and generator in the scenarios"
  code       = "scenarios/full-cycle.hcl: procs"
  effect     = "97,000 cycles/s at 12.3 us against 65,000 to 89,000 at 16 to 23 us, interleaved"
  kept       = true
}

experiment "frames-in-flight" {
  named_by   = "wake-ups between the processes: the closed loop leaves the cores idle for a third of the time"
  hypothesis = "more, or fewer, frames in flight fill the gaps"
  change     = "1, 2, 8 frames instead of 4; two connections; yielding until no more calls arrive"
  effect     = "none beyond a noise of tens of percent"
  kept       = false
}

# The following experiments separate the effects of the first two, and continue from there. "full"
# is full-cycle.hcl, one task per call; "batch" is full-cycle-batch.hcl. One processor for each
# side, windows of 1 to 3 s, the binaries alternating run by run. A figure such as "rate 1.11" is
# the median of the ratios of neighbouring runs, after to before. "Quiet": other work used less than
# a tenth of the CPU.

experiment "generated-encoders" {
  named_by   = "CPU profile: encoding and decoding by reflection, about 8 and 5 % of each side's CPU"
  hypothesis = "generated code avoids reflection and most of the allocations"
  change     = "vtprotobuf's generated encoders and decoders for the queue service's messages, in buffers of a pool"
  code       = "engine/wire/codec.go: func marshal"
  effect     = "full: CPU 0.89, rate 1.11; batch: CPU 0.93, rate 1.06"
  measured   = "mostly quiet host, 5 and 3 rounds, A = the first build"
  kept       = true
  note       = "the generated encoders stay; decoders-in-groups replaced the generated decoders"
}

experiment "one-more-frame-for-workers" {
  named_by   = "a median cycle of 46 ms in batches, and a growing share of Pebble in the server: a backlog builds up"
  hypothesis = "producers and workers have two frames in flight each, so the queue's length drifts, and a long queue is flushed and read again; giving completions priority keeps it short"
  change     = "three frames in flight for a worker session, two for a producer's, so that completions have priority over new tasks"
  code       = "engine/client/worker.go: const workFramesMax"
  effect     = "batch: rate 1.17, CPU 0.92, median cycle 34 ms to 6 ms; 4 and 8 frames are no better; full: no effect"
  measured   = "mostly quiet host, 3 rounds, A = generated-encoders"
  kept       = true
}

experiment "frames-encoded-by-the-caller's-session" {
  named_by   = "CPU profile: a quarter of the client in its sessions"
  hypothesis = "a message for each task and settlement, a map of held tokens, and a channel and a select for each wait can all be removed"
  change     = "frames are encoded directly from the callers' arguments; calls, lists and buffers are reused; a table by id and token replaces the map; pushed tasks go to waiting receivers without a channel"
  code       = "engine/wire/frame.go: type Frame"
  effect     = "full: client CPU 0.92 to 0.96; batch: client CPU 0.71 to 0.72"
  measured   = "busy host, 31 and 13 rounds, A = generated-encoders; the batch ratio was the same in two series"
  kept       = true
  note       = "it also fixes two bugs: a session lost a slot when two shards issued the same token, and memory of an abandoned call could still be read"
}

experiment "decoders-in-groups" {
  named_by   = "CPU profile: the remaining cost of decoding is an allocation for each task, id, name and payload"
  hypothesis = "tasks of one frame can share memory in small groups"
  change     = "hand-written decoders for the four stream messages: tasks in slabs of 16, their texts and payloads in copies of up to 4 KiB (512 bytes on the server, which retains payloads); the server returns request messages to a pool"
  code       = "engine/wire/decode.go: type group"
  effect     = "a pushed frame of 16 tasks: 85 allocations to 2, 2.6 to 2.1 us; a frame of 16 new tasks: 53 to 4, 1.5 to 0.95 us; full: server CPU 0.95"
  measured   = "the frames by benchmark, the best of ten runs; full on a busy host, 20 rounds, A = generated-encoders"
  kept       = true
  note       = "a function that returns a struct of more than four words does so through memory: the first version took 47 ns for each field, with plain results 5 ns"
}

experiment "one-watched-context" {
  named_by   = "CPU profile: select is 8.5 % of the client"
  hypothesis = "waiting for an answer or a context costs twice as much as waiting for the answer alone"
  change     = "the session waits for the end of the callers' context once it has seen the same context 32 times in a row"
  code       = "engine/client/watch.go: func (w *watch) covers"
  effect     = "select and receive together 8.5 % to 4.3 % of the client's CPU; full: client CPU 0.98, within the noise of that series"
  measured   = "busy host; shares by perf at 1,999 samples a second, ratio from 37 rounds, A = decoders-in-groups"
  kept       = true
  kept_for   = "the waits in the profile take half of their former share of CPU time"
}

experiment "busy-polling" {
  named_by   = "at 118,000 cycles/s each side writes 7,500 times a second and sleeps equally often; both cores are 28 to 40 % idle"
  hypothesis = "the closed loop waits for threads to wake up: polling is faster, and costs less than waking up"
  change     = "a connection polls its socket for up to 200 us before its thread sleeps, if nearly all of its waits are short and no other connection is busy"
  code       = "engine/internal/busypoll/habit.go: func (h *habit) poll"
  effect     = "full, one processor each: rate 1.75, CPU 0.94 (254,000 against 145,000 cycles/s at 7.0 against 7.8 us); batch: no difference; next to a third busy process: rate 0.91, CPU 1.1; on a host busy with other work the gain shrinks to nothing"
  measured   = "full on a mostly quiet host, 25 rounds, A = one-watched-context; the busy process with an earlier version, 5 rounds"
  kept       = true
  note       = "an option, off by default (busy_poll, client.WithBusyPoll): it increases the rate at the expense of idle CPU time. These figures are of a build without later changes; full-cycle.hcl uses the option, and its page has the figures of the current build. Polling without a limit, and for only 50 or 100 us, was tried first: without learning from the waits it cost batches 14 to 39 % of their rate, and 100 us is too short, because the two sides fall out of step at each collection"
}

experiment "busy-polling-with-all-processors" {
  named_by   = "as before"
  hypothesis = "polling helps with the default GOMAXPROCS too"
  change     = "the same, with two processors for each side"
  effect     = "full: rate 1.05, CPU 1.02, p99 2.2 to 7.3 ms: nothing gained"
  measured   = "busy host, 4 rounds"
  kept       = false
  note       = "each yield of the poller wakes another thread; polling is now active only with GOMAXPROCS=1"
}

experiment "system-calls-unknown-to-the-scheduler" {
  named_by   = "CPU profile: sysmon is 14 to 17 % of the client, with futex calls at the entry of reads and writes"
  hypothesis = "a write to a loopback socket takes longer than the 20 us after which sysmon takes the processor away; the scheduler does not disturb calls that it does not see"
  change     = "non-blocking reads and writes by RawSyscall, which the scheduler does not see"
  effect     = "sysmon 0.5 % of the client's CPU; full: client CPU 0.87, server CPU 1.07, rate 1.01; with polling: rate 0.93; batch: CPU 0.95; with all processors: CPU 0.97"
  measured   = "mostly quiet host, 25, 20 and 19 rounds, A = one-watched-context"
  kept       = false
  note       = "a gain for the client and a loss for the server, so it must be measured separately by side and for reads and writes; that series was not completed. Worth a second look"
}

experiment "raft-logs-in-pebble-or-raft-wal" {
  named_by   = "the Raft log is written once for each entry on each node"
  hypothesis = "one Pebble for all groups, with one fsync for all, is no slower than a raft-wal for each group"
  change     = "engine/replica/logs against raft-wal v0.4.0, entries of 16 KiB"
  code       = "engine/replica/logs/store.go: type Store"
  effect     = "raft-wal is faster. Pebble to raft-wal, two series: 1 group without fsync: rate 0.91 and 0.78, CPU 1.20 and 1.90; 4 groups without: rate 0.64 and 0.26, CPU 1.80 and 3.36; 1 group with fsync: CPU 1.42 and 1.78, rates too scattered to tell; 4 groups with: rate 0.53 and 0.44, CPU 0.88 and 1.96"
  measured   = "busy host, load 9 to 14, 3 and 5 rounds of under a second, alternating in one process, the series with different memtables; earlier, shorter attempts had the same winner"
  kept       = true
  kept_for   = "the interval mode, one folder with one lock, votes next to the entries, and crash tests through its file system, which the measurement does not include"
  note       = "the hypothesis failed, and Pebble is kept for reasons that this does not measure: the interval mode, one folder with one lock, votes next to the entries, crash tests through its file system, and no old etcd among the dependencies. A log write of about 60 us on each of three nodes, for an entry of a hundred cycles, is 2 us of CPU time per cycle: to be measured again on a quiet host"
}

experiment "raft-log-memtable" {
  named_by   = "bytes flushed: half of a 64 MiB log is written again with memtables of 64 MiB"
  hypothesis = "entries that are truncated while they are in memory are written only once"
  change     = "memtables of 32, 64 and 128 MiB"
  code       = "engine/replica/logs/store.go: DefaultMemTableBytes"
  effect     = "flushed of appended: 79, 49 and 22 % of a 64 MiB log, 24, 11 and 4 % of 16 MiB. CPU per append with 64 and 128 MiB: 66 and 57 us against 36 and 36"
  measured   = "bytes: one pass of 700 MiB each; CPU: two passes of 1.5 s, busy host (load 12)"
  kept       = true
}

experiment "entries-of-bounded-size" {
  named_by   = "three nodes in batches of 64: entries of 118 KB, 150 a second, a commit of 5 ms and fewer than two in flight on average, with the CPUs at 60 %"
  hypothesis = "all waiting commands become one entry, which passes the stages as a whole: smaller entries let the stages overlap"
  change     = "an entry of a replicated shard is closed once it has 512 tasks and settlements"
  code       = "engine/shard/shard.go: DefaultCommitTasksMax"
  effect     = "rate 1.34 and 0.92 (200,058 against 148,992 and 143,305 against 155,725 cycles/s), CPU 0.87 and 1.04; each command alone, which is about the same in this workload: 183,000 to 217,000 against 127,000 to 189,000"
  measured   = "busy host, two turns of 10 s, and four turns with commands alone"
  kept       = true
  kept_for   = "a bound on the size of an entry, and so on its memory and message"
  note       = "the turns vary too much to quantify the gain; the gain with commands alone agrees"
}

experiment "smaller-frames-from-the-client" {
  named_by   = "frames of up to 1,000 tasks, two of them in flight"
  hypothesis = "frames of 256 tasks, eight in flight, would overlap like smaller entries"
  change     = "frames of 256 tasks; 8 of producers and 12 of workers in flight"
  effect     = "three nodes: 192,941 and 111,514 against 126,650 and 165,536 cycles/s; with commands alone: 186,611 and 179,411 against 216,698 and 182,630"
  measured   = "busy host, two rounds each in turn"
  kept       = false
}

experiment "log-rotation-without-fsync" {
  named_by   = "slow commits by cause: three of 10 to 20 ms in each window of 10 s, all of them rotations of the log, which take one fsync of the closed log and one of the folder while all commits wait"
  hypothesis = "at none and interval nothing needs these fsyncs before the next commit, if another mechanism preserves the order in which logs become durable"
  change     = "a goroutine fsyncs closed logs in order; a log that is started before that has a pending name; sync_file_range moves to the goroutine; logs are created instead of overwritten"
  code       = "engine/storage/disk/deferred.go: func (d *deferredSync) run"
  effect     = "open loop at 40,000/s, two processors, five rounds each in turn: rotations above 5 ms 15 to 0 (31 to 39 ms a round to 0), slowest commit 17 to 21 ms to 0 to 8 ms, p99.9 18.5 to 11.8 ms, p99 5.9 to 5.5 ms, server CPU 18.0 us in both"
  measured   = "two shared cores, AMD EPYC, ext4, windows of 10 s"
  kept       = true
}

experiment "smaller-memtables-with-more-queued" {
  named_by   = "slow cycles during the flush of a 64 MiB memtable, after log-rotation-without-fsync"
  hypothesis = "8 MiB memtables flush in shorter pieces, and eight queued memtables absorb a burst of the same length as before"
  change     = "MemTableSize 8 MiB and MemTableStopWritesThreshold 8, against 64 MiB and 4"
  effect     = "open loop at 40,000/s, two processors, four rounds against five, in turn: p99 5.5 to 4.7 ms, p99.9 11.8 to 9.7 ms, server CPU 18.0 to 18.3 us, resident memory 130 to 72 MB; slowest commit 8 ms in both"
  measured   = "two shared cores, AMD EPYC, ext4, windows of 10 s"
  kept       = false
  note       = "the rate of a draining backlog was not measured with eight queued and larger L0 settings; smaller-memtables has the cost without them. Worth a second look with these settings"
}

experiment "collector-by-memory-limit" {
  named_by   = "p99 at GOGC 400: the live heap is small, so the collector runs often"
  hypothesis = "a collector that runs only near a memory limit takes less time from the hot path"
  change     = "GOGC=off and GOMEMLIMIT=1GiB in the environment of queued"
  effect     = "open loop at 40,000/s, two processors, four rounds against five, in turn: p99 5.5 to 3.6 ms, p99.9 11.8 to 14.0 ms, server CPU 18.0 to 18.3 us, resident memory 130 to 905 MB"
  measured   = "two shared cores, AMD EPYC, ext4, windows of 10 s"
  kept       = false
  note       = "seven times the memory for the p99 alone, and no gain of CPU time. A larger GOGC, between 400 and off, was not measured"
}

experiment "rest-without-reflection" {
  named_by   = "CPU profile of rest.hcl: decoding and encoding with protojson are 30 of 149 us of the server's CPU per cycle"
  hypothesis = "an enqueue, a claim and a completion that are read as tokens, with hand-written answers, cost a tenth of it"
  change     = "jsontext of go-json-experiment reads the three requests, and protojson handles rare or invalid input; the answers are appended to a buffer"
  code       = "engine/rest/hot_decode.go: func decodeHot"
  effect     = "a claim: decoded in 1.1 us with 7 allocations against 6.8 us with 39, answered in 0.6 us with none against 8.1 us with 27. rest.hcl, rates of three pairs in turn: 1.24, 1.46 and 0.92; server CPU 0.82, 0.72 and 1.07"
  measured   = "two shared cores, AMD EPYC, windows of 4 s; the host's speed changed by up to half within a window, CPU per cycle and rate together"
  kept       = true
}

experiment "rest-generator-without-transport" {
  named_by   = "CPU profile of rest.hcl: the two goroutines of each connection of net/http's Transport take 70 of 132 us of the generator's CPU per cycle"
  hypothesis = "a goroutine with its own connection writes its request and reads its answer at half of the client's CPU time"
  change     = "the REST driver of the load generator writes and reads its persistent connections directly; http.ReadResponse reads the answers"
  code       = "harness/driver/rest/connection.go: type connection"
  effect     = "rest.hcl, pairs in turn: rate 1.36 and 1.34 against the same server, CPU of both sides 0.65 and 0.7; with rest-without-reflection 1.34 against both before (12,343 against 9,204 cycles/s, CPU 130 against 189 us)"
  measured   = "two shared cores, AMD EPYC, windows of 4 s"
  kept       = true
  note       = "only the generator costs less: a client that uses net/http gains only from rest-without-reflection"
}

experiment "four-and-six-frames" {
  named_by   = "one task a call with durability sync: 17 cycles share an fsync although 32 calls wait, because only two frames are in flight"
  hypothesis = "with more frames in flight, the calls of one fsync reach the server during the previous fsync"
  change     = "four frames of a producer's session and six of a worker's, instead of two and three"
  code       = "engine/client/producer.go: const produceFramesMax"
  effect     = "default.hcl, three pairs in turn: rate 1.09, 1.18 and 1.15, CPU 0.94, 0.95 and 0.95. Without fsync, one task a call, two processors each, four pairs: 1.03, 0.92, 0.89 and 1.27. Batches of 64: without fsync 0.97 and 1.11, with 0.93 and 1.17; on three nodes with fsync 0.99 and 1.01"
  measured   = "two shared cores, AMD EPYC, windows of 4 s"
  kept       = true
  note       = "one frame each loses 7 % with fsync. Eight and twelve frames gain nothing more without fsync. frames-in-flight and one-more-frame-for-workers were measured without fsync"
}

experiment "profile-guided-build" {
  named_by   = "the server's CPU time is spread thinly over gRPC, protobuf and the runtime: inlining and devirtualising by profile may help where nothing else does"
  hypothesis = "at least 3 % less server CPU"
  change     = "a default.pgo merged from CPU profiles of the server in default, full-cycle-batch, unary and rest, windows of 3 s"
  effect     = "server CPU per cycle, pairs in turn: unary 1.02, 0.97 and 0.98; batches of 64 0.98 and 0.85; rest 0.93 and 1.10. Building queued takes twice as long"
  measured   = "two shared cores, AMD EPYC, windows of 4 s"
  kept       = false
  note       = "the only series with little variation, unary, gains 2.5 % in the median. Each build would compile all dependencies a second time, and the profile ages. Worth a second look with profiles of minutes, and a duet of both builds"
}

experiment "amd64-v3" {
  named_by   = "as before"
  hypothesis = "instructions of newer processors cost nothing to use"
  change     = "GOAMD64=v3 for server and generator"
  effect     = "one task a call without fsync: 69,178 against 77,890 and 67,171 cycles/s with two processors each, 89,449 against 78,734 and 79,717 with one"
  measured   = "two shared cores, AMD EPYC, one run of 4 s between two of the other build"
  kept       = false
  note       = "no difference beyond the noise, and a binary that does not run on older hosts"
}

experiment "one-processor-for-one-side" {
  named_by   = "with two processors each, both sides wake threads that find nothing to do: 17 against 13 us a cycle with one each"
  hypothesis = "one processor for the server alone, or the generator alone, saves half of that"
  change     = "GOMAXPROCS 1 for one side, 2 for the other"
  effect     = "one task a call without fsync: 68,368 cycles/s with one for the server, 72,249 with one for the generator, 67,171 to 77,890 with two each, 78,734 to 91,714 with one each"
  measured   = "two shared cores, AMD EPYC, windows of 4 s"
  kept       = false
  note       = "only one processor for each side pays, and a server cannot choose that for its clients"
}

experiment "yield-twice-or-never" {
  named_by   = "the client yields once before it closes a frame"
  hypothesis = "a second yield fills frames better; no yield saves a pass through the scheduler"
  change     = "0 or 2 yields instead of 1"
  effect     = "one task a call without fsync, against runs around them: none: rate 0.66 and 0.71, CPU 1.5; two: 1.0 and 0.97"
  measured   = "two shared cores, AMD EPYC, windows of 4 s, two and one processors each"
  kept       = false
}

experiment "collector-at-1600-percent" {
  named_by   = "CPU profile of unary.hcl: allocation with its share of the collector is 17 of 74 us of the server's CPU per cycle"
  hypothesis = "the live heap is small, so a quarter of the collections costs only tens of megabytes"
  change     = "GOGC=1600 for server and generator instead of 400"
  effect     = "unary, two pairs in turn: CPU 0.82 and 0.99, rate 1.28 and 1.0"
  measured   = "two shared cores, AMD EPYC, windows of 4 s; the first pair's base ran while the host was slow"
  kept       = false
  note       = "no proven gain"
}

experiment "fresh-tasks-in-the-log-only" {
  named_by   = "the memtable insert of each task and lease, a fifth of the server's time, and the flush of records that ended milliseconds after they began"
  hypothesis = "records that end before their log is removed need neither: they are in the log and in memory"
  change     = "a single server writes new tasks and leases to Pebble's log as LogData, holds them in memory, and stores those that outlive their log; a start after a crash reads the remaining logs"
  code       = "engine/storage/young.go: func (s *Store) commitYoung"
  effect     = "full-cycle-batch in turn (ABBA): 685,600 to 955,900 cycles/s, server CPU 1.28 to 0.85 us, p99 39 to 15 ms, p99.9 58 to 36 ms, resident memory 213 to 89 MB, keys set per cycle 1.01 to 0.0098. full-cycle-sync, one round each: 575,000 to 719,000 cycles/s, server CPU 1.40 to 1.02 us, p99 29 to 15 ms. open-half in turn (ABBA): p99 4.7 and 6.3 to 3.7 and 3.0 ms, p99.9 10.0 and 24.8 to 9.6 and 11.1 ms, server CPU 18.5 to 18.1 us, resident memory 124 to 61 MB"
  measured   = "two shared cores, AMD EPYC, ext4; windows of 6 s and 8 s; the round of full-cycle-sync before the change was not steady"
  kept       = true
  note       = "backlogs in turn, one round each. 10 million tasks (ABBA, the change first): drained at 478,500 and 532,200/s before, 483,800 and 479,200 with it; first claim after a kill 0.41 and 0.31 s, 0.30 and 0.61 s. 4 million (the base first): 570,900 and 577,400/s before, 539,800 and 517,500 with it; 0.26 and 0.14 s, 0.43 and 0.49 s. In the profiles of the shorter drain, the change has 0.4 s more compaction of 5 s. The base postpones that work: its compaction debt is 158 MB, against 62 MB with the change"
}

experiment "votes-in-a-file-of-their-own" {
  named_by   = "timestamps of hand-overs and of kills of the leader: the fsync of a vote took 10 to 155 ms under load, and an election waits for two of them, one after the other"
  hypothesis = "the fsync of a small preallocated file waits neither for the log's data nor for the file system's journal"
  change     = "a group's term and vote are written to one of two places of a file of 8 KiB, in turn; Pebble has them too, without an fsync"
  code       = "engine/replica/logs/votes.go: func (v *votes) write"
  effect     = "of 33 votes, each with both fsyncs one after the other: the file's 0.1 to 1.4 ms, four times 14 to 25 ms, in the median 0.4 ms; the log's 0.2 to 155 ms, in the median 24 ms"
  measured   = "two shared cores, Intel Xeon, ext4; three nodes and the client on them, durability none, rolling restarts and seven kills under a closed load"
  kept       = true
}

experiment "lease-look-ups-by-iterator" {
  named_by   = "timestamps of hand-overs: the lookup of the leased tasks took 5 to 22 ms of a new leader's start, 1,000 leases with two Gets each"
  hypothesis = "two iterators that seek each key save the setup of a Get"
  change     = "storage.Recover looks up tasks and their progress with SeekPrefixGE of two iterators"
  code       = "engine/storage/read.go: func (p *points) get"
  effect     = "BenchmarkRecover: 1,000 leases 2.3 to 0.80 ms, 10,000 leases 12.1 to 4.5 ms"
  measured   = "two shared cores, Intel Xeon, store in memory, 20 recoveries each, one run"
  kept       = true
}

experiment "who-knows-the-keys-stands-first" {
  named_by   = "rate of 10,000 instead of 80,000 cycles/s for seconds after some kills of the leader: the new leader had restarted seconds before, and looked up each new idempotency key in its tables"
  hypothesis = "of two followers with equal logs, the one with a filled key filter can serve the load immediately"
  change     = "a follower whose filter is not filled waits 60 ms for each voter with an equally long log, and 60 ms more, before it stands for election"
  effect     = "twelve kills, one run each: the rate was below a fifth for 4.3 s and for more than 7 s after two of them; after none with the change. Unsuccessful key lookups of the last leader: 48,260 and 5,841"
  measured   = "two shared cores, Intel Xeon, ext4; leader-kill.hcl with 12 kills and a window of 78 s, durability none, 18 and 20 million keys at the end"
  kept       = false
  note       = "kept for a day: a store now has the filters of its tables in memory from its start, so all followers know the keys"
}

experiment "fresh-tasks-in-the-raft-log-only" {
  named_by   = "the memtable insert of each task and lease on each of three nodes, and of its deletion"
  hypothesis = "the Raft log has these records already: a node can hold them in memory, and store only those that outlive the log"
  change     = "Apply holds new tasks and leases as parts of their entries; the log is kept from before the oldest of them, and a start reads that part"
  code       = "engine/storage/youngapply.go: func (y *youngRecords) applyLocked"
  effect     = "in turn (ABBA), before and after: raft-full-cycle-batch 269,500 to 386,400 cycles/s, server CPU 4.5 to 2.9 us, p50 15 to 10 ms, p99 62 and 98 to 49 and 52 ms, resident memory of three nodes 1,490 to 1,330 MB. raft-full-cycle-sync 217,000 to 264,300 cycles/s, server CPU 5.5 to 4.0 us, p99 57 and 64 to 55 and 58 ms, resident memory 1,300 to 1,110 MB. raft-open-half p99 5.7 and 5.9 to 5.5 and 5.6 ms, p99.9 12.5 and 15.1 to 11.5 and 14.4 ms, server CPU 89 to 88 us, resident memory 370 to 283 MB"
  measured   = "two shared cores, Intel Xeon; windows of 6 s and 8 s"
  kept       = true
  note       = "the expected rates were 1.49 and 1.39 times the base; the measured ones are 1.43 and 1.22. A build that had the Raft log synced before each write of a manifest, compactions included, reached 351,600 cycles/s with p99 68 and 72 ms in raft-full-cycle-batch; the log is now synced only before the writes of flushes. Commits over 40 ms fall into flushes of the Raft logs' own Pebble, before and after"
}

experiment "a-cache-beside-the-memtables" {
  named_by   = "2,000 to 8,000 cycles/s of a new leader that looked up keys in its tables: 200 lookups a second among 15 million keys, with no hit in the block cache"
  hypothesis = "Pebble deducts memtables from its cache: 32 MiB minus one memtable of 64 MiB leaves no cache, and each lookup reads a whole Bloom filter from its file"
  change     = "the cache is 32 MiB plus two memtables of each store"
  code       = "engine/storage/disk/cache.go: func NewCache"
  effect     = "lookups of new keys in tables, one processor, while the filter is filled: 200 to 230,000 a second. Twelve kills of the leader after 160 s: 69,900 to 88,600 cycles/s, rate after the last kills 16 to 38 % of the rate before the first; resident memory of three nodes 980 to 1,880 MB"
  measured   = "two shared cores, Intel Xeon, ext4; leader-kill.hcl with 12 kills from 160 s on and a window of 4 min, durability none, 17 million keys at the first kill, one run each"
  kept       = true
  note       = "lookups a second are from a test that was not kept. With two memtables, one of which is flushed, the cache still has its 32 MiB. Rejected for the Raft logs, whose cache of 8 MiB is equally small relative to their memtables: a start reads them before the memtables are large, and lookups are for recent entries"
}

experiment "filters-of-tables-at-the-start" {
  named_by   = "20 s of half a processor to add 20 million keys to the filter of a restarted node"
  hypothesis = "the tables have Bloom filters of all earlier keys, so a start only has to read these"
  change     = "a store reads the filters of its tables of keys into memory when it is opened, and checks them in addition to the filter of later keys; the filling is gone"
  code       = "engine/storage/keyfilter.go: func (s *Store) openKeyFilter"
  effect     = "15 million keys, one processor: 1.6 million checks of new keys a second, after an opening of 74 ms, instead of 230,000 during the filling and 610,000 after it (keys of 32 producers in ascending order; keys in random order: BenchmarkKeyCheck 0.57 to 1.01 us in one bucket, 2.5 us in four). Twelve kills of the leader: 88,600 to 103,600 cycles/s, rate after the last kills 38 to 78 % of the rate before the first, recovered after each of them (after 10 of 12 before)"
  measured   = "as a-cache-beside-the-memtables, builds one after the other; the checks of keys in ascending order are from a test that was not kept, those in random order from go test ./storage -bench KeyCheck"
  kept       = true
}

experiment "flushes-that-yield" {
  named_by   = "commits of 50 to 150 ms during a flush or a compaction, with waits of up to 84 ms for the processor: keys are written to tables, unlike tasks that end soon"
  hypothesis = "with one processor a flush runs in slices of 10 ms, and a cycle has about seven steps that wait for such a slice"
  change     = "the writer of a table's Bloom filter, which Pebble calls for each key, yields the processor after every 128 keys"
  code       = "engine/storage/tablefilter.go: func (w *tableFilterWriter) AddKey"
  effect     = "in turn (ABBA): p99 476 and 650 to 401 and 440 ms, p99.9 839 and 1,300 to 671 and 638 ms; 118,600 and 108,800 to 114,000 and 118,600 cycles/s, server CPU 11.1 and 11.8 to 11.6 and 11.1 us"
  measured   = "two shared cores, Intel Xeon, ext4; leader-kill.hcl without kills, window of 30 s, durability none, three nodes with one processor each"
  kept       = true
  note       = "the same for tables of the Raft logs, after every 8 entries, in turn: p99 390 and 495 to 445 and 384 ms, p99.9 688 and 772 to 650 and 545 ms, 121,200 and 112,600 to 116,400 and 119,000 cycles/s: rejected, within the noise"
}

experiment "entries-for-a-node-that-restarts" {
  named_by   = "an outage of 2.3 s after one of fifty kills, and stalls of about 1 s after others: 21 restarted nodes received the whole store, and a new leader had truncated the entries that the only other node lacked"
  hypothesis = "a node that is down for 2 s finds its entries in the log if 48 instead of 16 MiB stay there"
  change     = "48 MiB of entries stay in a truncated log, and a log is truncated after 32 instead of 64 MiB, so it still has at most 80 MiB"
  code       = "engine/replica/options.go: defaultTrailingBytes"
  effect     = "13 kills, one run each: 4 to 1 copies of the store, slowest return to 95 % of the rate 1,730 to 690 ms, 102,800 to 106,200 cycles/s. raft-full-cycle-batch in turn (ABBA): 407,900 and 363,500 to 394,800 and 393,800 cycles/s, server CPU 2.9 and 3.2 to 2.9 and 3.0 us"
  measured   = "two shared cores, Intel Xeon, ext4; leader-kill.hcl with 13 kills from 20 s on and a window of 100 s, durability none; raft-full-cycle-batch with one round"
  kept       = true
  note       = "64 MiB that stay, truncated after 64 MiB: no copy, slowest return 630 ms, but raft-full-cycle-batch 390,300 and 370,300 to 354,900 and 357,600 cycles/s, server CPU 3.0 and 3.2 to 3.3 and 3.3 us (two rounds each, ABBA): more of the log is written a second time"
}

experiment "room-of-the-last-large-commit" {
  named_by   = "allocation profile of payloads of 16 KiB: 55 % of the 151 kB that the server allocates for a cycle in young.Puts.Add, whose buffer is reallocated for each commit beyond 1 MiB"
  hypothesis = "a buffer that starts a large commit with the capacity of the last one is allocated once, and not copied"
  change     = "a buffer that outgrows the capacity retained between commits grows to the size of the last such commit, or to twice its size"
  file       = "engine/storage/young/young.go:147"
  code       = "engine/storage/young/young.go: func (p *Puts) grow"
  effect     = "a duet in 15 generations: rate 8.4 % higher (7.3 to 10.7), server CPU 9.7 % lower (8.6 to 11.9), counters from fixed work equal. An earlier one in 10 generations: 7.9 % (6.2 to 12.0) and 7.4 % (6.1 to 10.2). Commits of 8 MiB one after the other allocate less than 1.75 times their size instead of 5 times"
  cost       = "a commit beyond 1 MiB that is smaller than the previous one has unused capacity until it is written"
  measured   = "two shared cores, AMD EPYC; prony compare --base 9147ce1^ --change 9147ce1 --var batch=16 --var payload=16384, durability none, one processor each, one look of 90 s"
  kept       = true
  note       = "buffer-of-small-commits-for-large-ones replaced the size of the last large commit by the largest recent size"
}

experiment "buffer-of-small-commits-for-large-ones" {
  named_by   = "allocation profile of the scenario payload with 16 KiB: young.Puts.Add still allocates 41 % of the 141 kB of a cycle, 22 % in appends up to 1 MiB, which each large commit repeats"
  hypothesis = "a large commit that starts with the buffer of small commits, and then uses the capacity of the largest recent commits, allocates its own size once"
  change     = "the buffer of at most 1 MiB is retained in addition to a large one; the capacity is a maximum that falls by an eighth with each large commit, instead of the last size"
  file       = "engine/storage/young/young.go:147"
  code       = "engine/storage/young/young.go: func (p *Puts) grow"
  effect     = "a duet in 12 generations: rate 6.9 % higher (5.4 to 10.1), server CPU 8.7 % lower (7.2 to 11.8), latencies the same, counters from fixed work equal. Commits of 1.5 MiB allocate less than 1.25 times their size instead of 5 times"
  cost       = "up to 1 MiB stays with each shard after a large commit, as after small ones; a commit that is smaller than the largest recent one has unused capacity until it is written"
  measured   = "two shared cores, Intel Xeon; prony compare --base 1077ca9d^ --change 1077ca9d --var batch=16 --var payload=16384, durability none, one processor each, one look of 90 s"
  kept       = true
}

experiment "fsync-that-holds-no-processor" {
  named_by   = "CPU profile of server and driver program with fsync, one task a call, GOMAXPROCS 1: both CPUs are idle for a third of the time, while fdatasync holds the server's only processor"
  hypothesis = "a server that continues to decide during an fsync keeps the CPUs busy, and threads need not take the processor from each other"
  change     = "fdatasync of files by Linux AIO (IOCB_CMD_FDSYNC), whose eventfd the runtime's network poller waits for"
  file       = "engine/storage/disk/failstop.go:130"
  effect     = "interleaved rounds, 10 blocks: with GOMAXPROCS 1 rate +9.6 % (-8.4 to +30.6), CPU -2.6 % (-14.2 to +12.3) and 59 % more keys set per cycle (46 to 70), because fewer commands share a commit; with GOMAXPROCS 2 rate -6.5 % (-13.6 to +1.8), p50 +17 % (12 to 24), p99 +24 % (10 to 37). A duet judged it better with GOMAXPROCS 1 (rate +23 %, 18 to 36; server CPU -21 %, 19 to 27): in the duet's slices of 10 ms a server starts from idle each time, when the runtime is slow to take the processor from a thread in fdatasync"
  measured   = "two shared cores, Intel Xeon; 4 connections, 16 producers, 32 workers, at most 96 tasks in flight, 64 B, durability sync; prony compare --rounds 10, and --for 50s"
  kept       = false
}

experiment "one-commit-at-a-time" {
  named_by   = "the same profile: 0.13 fsyncs per cycle, while the disk has capacity for three times as many"
  hypothesis = "commands that gather during a commit share the next one: fewer commits, wake-ups and messages"
  change     = "with fsync on one node the deciding goroutine takes commands only when its last commit is durable"
  file       = "engine/shard/drain.go:22"
  effect     = "a duet in 11 generations: server CPU +2.4 % (0.7 to 3.2), client CPU +3.4 % (1.9 to 4.1), rate and latencies the same; commits a cycle from fixed work equal"
  measured   = "two shared cores, Intel Xeon; the load of fsync-that-holds-no-processor, GOMAXPROCS 1; prony compare --for 60s"
  kept       = false
}

experiment "amd64-v3-over-a-sweep" {
  hypothesis = "instructions of newer processors cost nothing to use, and save a few percent of encoding and hashing"
  change     = "the same source, with GOAMD64=v3"
  effect     = "score 0.970 (0.929 to 1.012) over 13 generations: a tie"
  cost       = "a binary that processors without AVX2 refuse"
  kept       = false
  note       = "the revision predates the publication of the command; the engine of both sides is that of d2977340801e. amd64-v3 tried the same by hand"

  ratchet {
    started     = "2026-11-24T03:54:09Z"
    base        = "1cc093a1cb13fb7950e5814d63a4c1a840f92f02"
    commit      = "1cc093a1cb13fb7950e5814d63a4c1a840f92f02"
    options     = "GOAMD64=v3"
    scenario    = "ratchet"
    durability  = "none"
    command     = "prony ratchet --base HEAD --change HEAD --build-env GOAMD64=v3 --name amd64-v3-over-a-sweep --hypothesis 'instructions of newer processors cost nothing to use, and save a few percent of encoding and hashing' --cost 'a binary that processors without AVX2 refuse' --for 140s"
    host        = "2 CPUs, Intel(R) Xeon(R) Processor, ext4, 6.18.44-fc-v669"
    go          = "go1.26.8"
    seconds     = 128.2
    generations = 13
    points      = 7

    score {
      ratio = 0.9698
      low   = 0.9292
      high  = 1.012
    }

    figure "cycles_per_s" {
      unit   = "1/s"
      base   = 31150
      change = 30780
      ratio  = 0.988
      low    = 0.9496
      high   = 1.028
    }

    figure "server_cpu_us_per_cycle" {
      unit   = "us"
      base   = 18.42
      change = 18.39
      ratio  = 0.9982
      low    = 0.9659
      high   = 1.032
    }

    figure "client_cpu_us_per_cycle" {
      unit   = "us"
      base   = 16.8
      change = 16.99
      ratio  = 1.011
      low    = 0.9824
      high   = 1.041
    }

    figure "server_allocs_per_cycle" {
      unit   = "objects"
      base   = 9.561
      change = 9.512
      ratio  = 0.9948
      low    = 0.9837
      high   = 1.006
    }

    figure "server_alloc_bytes_per_cycle" {
      unit   = "bytes"
      base   = 1066
      change = 1062
      ratio  = 0.9959
      low    = 0.9863
      high   = 1.006
    }

    figure "server_rss_mb_max" {
      unit   = "MB"
      base   = 65.22
      change = 65.1
      ratio  = 0.9981
      low    = 0.991
      high   = 1.005
    }

    figure "enqueue_latency_ms_p50" {
      unit   = "ms"
      base   = 0.2179
      change = 0.2175
      ratio  = 0.999
      low    = 0.985
      high   = 1.013
    }

    figure "enqueue_latency_ms_p95" {
      unit   = "ms"
      base   = 0.5213
      change = 0.5116
      ratio  = 0.9774
      low    = 0.9254
      high   = 1.032
    }

    figure "enqueue_latency_ms_p99" {
      unit   = "ms"
      base   = 0.8852
      change = 0.8598
      ratio  = 0.9662
      low    = 0.8883
      high   = 1.051
    }

    figure "cycle_latency_ms_p50" {
      unit   = "ms"
      base   = 0.3682
      change = 0.3671
      ratio  = 0.9967
      low    = 0.9787
      high   = 1.015
    }

    figure "cycle_latency_ms_p95" {
      unit   = "ms"
      base   = 0.907
      change = 0.8751
      ratio  = 0.9622
      low    = 0.9207
      high   = 1.006
    }

    figure "cycle_latency_ms_p99" {
      unit   = "ms"
      base   = 1.329
      change = 1.296
      ratio  = 0.9696
      low    = 0.9113
      high   = 1.032
    }
  }
}

experiment "planted-computing-is-rejected" {
  hypothesis = "the ratchet rejects 20 us of computing that are added to each enqueue on purpose"
  change     = "the same source, with PRONY_PLANTED=cpu:20us -tags planted of both"
  effect     = "score 1.603 (1.522 to 1.687) over 9 generations: worse"
  cost       = "20 us of CPU for each task"
  kept       = false
  note       = "not a change of the engine: the planted loss shows that the ratchet rejects a loss; the revision predates the publication of the command; the engine of both sides is that of d2977340801e"

  ratchet {
    started     = "2026-11-24T03:59:34Z"
    base        = "1cc093a1cb13fb7950e5814d63a4c1a840f92f02"
    commit      = "1cc093a1cb13fb7950e5814d63a4c1a840f92f02"
    options     = "PRONY_PLANTED=cpu:20us -tags planted of both"
    scenario    = "ratchet"
    durability  = "none"
    command     = "prony ratchet --base HEAD --change HEAD --tags planted --env PRONY_PLANTED=cpu:20us --name planted-computing-is-rejected --hypothesis 'the ratchet rejects 20 us of computing that are added to each enqueue on purpose' --cost '20 us of CPU for each task' --note 'not a change of the engine: what is planted shows that the ratchet rejects a loss' --for 110s"
    host        = "2 CPUs, Intel(R) Xeon(R) Processor, ext4, 6.18.44-fc-v669"
    go          = "go1.26.8"
    seconds     = 97.37
    generations = 9
    points      = 7
    more_worse  = 40

    score {
      ratio = 1.603
      low   = 1.522
      high  = 1.687
    }

    figure "cycles_per_s" {
      unit   = "1/s"
      base   = 30580
      change = 15410
      ratio  = 0.5038
      low    = 0.4905
      high   = 0.5173
      worse  = true
    }

    figure "server_cpu_us_per_cycle" {
      unit   = "us"
      base   = 18.67
      change = 49.33
      ratio  = 2.642
      low    = 2.581
      high   = 2.704
      worse  = true
    }

    figure "client_cpu_us_per_cycle" {
      unit   = "us"
      base   = 17.02
      change = 22.09
      ratio  = 1.297
      low    = 1.271
      high   = 1.324
      worse  = true
    }

    figure "server_allocs_per_cycle" {
      unit   = "objects"
      base   = 9.492
      change = 10.23
      ratio  = 1.077
      low    = 1.057
      high   = 1.098
      worse  = true
    }

    figure "server_alloc_bytes_per_cycle" {
      unit   = "bytes"
      base   = 1061
      change = 1129
      ratio  = 1.064
      low    = 1.042
      high   = 1.087
      worse  = true
    }

    figure "server_rss_mb_max" {
      unit   = "MB"
      base   = 65.6
      change = 62.35
      ratio  = 0.9504
      low    = 0.9375
      high   = 0.9636
    }

    figure "enqueue_latency_ms_p50" {
      unit   = "ms"
      base   = 0.2134
      change = 0.3074
      ratio  = 1.437
      low    = 1.368
      high   = 1.51
      worse  = true
    }

    figure "enqueue_latency_ms_p95" {
      unit   = "ms"
      base   = 0.5071
      change = 0.7763
      ratio  = 1.504
      low    = 1.424
      high   = 1.587
      worse  = true
    }

    figure "enqueue_latency_ms_p99" {
      unit   = "ms"
      base   = 0.8516
      change = 1.087
      ratio  = 1.251
      low    = 1.155
      high   = 1.354
      worse  = true
    }

    figure "cycle_latency_ms_p50" {
      unit   = "ms"
      base   = 0.3604
      change = 0.544
      ratio  = 1.503
      low    = 1.398
      high   = 1.617
      worse  = true
    }

    figure "cycle_latency_ms_p95" {
      unit   = "ms"
      base   = 0.8567
      change = 1.5
      ratio  = 1.714
      low    = 1.616
      high   = 1.817
      worse  = true
    }

    figure "cycle_latency_ms_p99" {
      unit   = "ms"
      base   = 1.284
      change = 1.901
      ratio  = 1.448
      low    = 1.359
      high   = 1.543
      worse  = true
    }

    figure "server_cpu_us_per_cycle" {
      point  = "workers=64, producers=64"
      unit   = "us"
      base   = 4.152
      change = 27.59
      ratio  = 6.644
      low    = 6.43
      high   = 6.866
      worse  = true
    }

    figure "server_cpu_us_per_cycle" {
      point  = "workers=32, producers=32"
      unit   = "us"
      base   = 6.2
      change = 30.06
      ratio  = 4.848
      low    = 4.67
      high   = 5.032
      worse  = true
    }

    figure "cycle_latency_ms_p95" {
      point  = "workers=64, producers=64"
      unit   = "ms"
      base   = 0.9983
      change = 4.534
      ratio  = 4.606
      low    = 2.978
      high   = 7.124
      worse  = true
    }

    figure "cycles_per_s" {
      point  = "workers=64, producers=64"
      unit   = "1/s"
      base   = 133400
      change = 33920
      ratio  = 0.2542
      low    = 0.2468
      high   = 0.2618
      worse  = true
    }

    figure "server_cpu_us_per_cycle" {
      point  = "workers=16, producers=16"
      unit   = "us"
      base   = 10.11
      change = 33.53
      ratio  = 3.316
      low    = 3.188
      high   = 3.448
      worse  = true
    }

    figure "cycle_latency_ms_p99" {
      point  = "workers=64, producers=64"
      unit   = "ms"
      base   = 1.587
      change = 5.072
      ratio  = 3.179
      low    = 2.112
      high   = 4.784
      worse  = true
    }

    figure "cycles_per_s" {
      point  = "workers=32, producers=32"
      unit   = "1/s"
      base   = 87560
      change = 29440
      ratio  = 0.3362
      low    = 0.3272
      high   = 0.3455
      worse  = true
    }

    figure "cycle_latency_ms_p95" {
      point  = "workers=32, producers=32"
      unit   = "ms"
      base   = 0.9012
      change = 2.798
      ratio  = 2.974
      low    = 2.565
      high   = 3.448
      worse  = true
    }
  }
}

experiment "profile-guided-over-a-sweep" {
  hypothesis = "inlining and layout by a CPU profile of whole cycles save server CPU, and so latency, at 1 to 64 workers"
  change     = "the same source, with -pgo=server-cpu.pprof"
  effect     = "score 0.987 (0.952 to 1.023) over 29 generations: a tie"
  cost       = "builds take longer, and the profile must be renewed as the code changes"
  kept       = false
  note       = "the profile is of one round of scenarios/full-cycle.hcl"

  ratchet {
    started     = "2026-11-25T21:13:50Z"
    base        = "b181b929cc8b67c761e0d1c4bd5c658877fbd297"
    commit      = "b181b929cc8b67c761e0d1c4bd5c658877fbd297"
    options     = "-pgo=server-cpu.pprof"
    scenario    = "ratchet"
    durability  = "none"
    command     = "prony ratchet --base HEAD --change HEAD --pgo server-cpu.pprof --name profile-guided-over-a-sweep --hypothesis 'inlining and layout by a CPU profile of whole cycles save server CPU, and so latency, at 1 to 64 workers' --cost 'builds take longer, and the profile must be renewed as the code changes' --note 'the profile is of one round of scenarios/full-cycle.hcl' --for 5m"
    host        = "2 CPUs, AMD EPYC, ext4, 6.18.44-fc-v669"
    go          = "go1.26.8"
    seconds     = 284.6
    generations = 29
    points      = 7

    score {
      ratio = 0.9871
      low   = 0.9521
      high  = 1.023
    }

    figure "cycles_per_s" {
      unit   = "1/s"
      base   = 38720
      change = 38730
      ratio  = 1
      low    = 0.9844
      high   = 1.016
    }

    figure "server_cpu_us_per_cycle" {
      unit   = "us"
      base   = 15.36
      change = 15.29
      ratio  = 0.9958
      low    = 0.9832
      high   = 1.009
    }

    figure "client_cpu_us_per_cycle" {
      unit   = "us"
      base   = 14.8
      change = 14.84
      ratio  = 1.003
      low    = 0.9904
      high   = 1.015
    }

    figure "server_allocs_per_cycle" {
      unit   = "objects"
      base   = 9.617
      change = 9.619
      ratio  = 1
      low    = 0.9958
      high   = 1.005
    }

    figure "server_alloc_bytes_per_cycle" {
      unit   = "bytes"
      base   = 1082
      change = 1083
      ratio  = 1.001
      low    = 0.9961
      high   = 1.007
    }

    figure "server_rss_mb_max" {
      unit   = "MB"
      base   = 67.8
      change = 68.25
      ratio  = 1.007
      low    = 1.001
      high   = 1.012
    }

    figure "enqueue_latency_ms_p50" {
      unit   = "ms"
      base   = 0.1846
      change = 0.1844
      ratio  = 0.9994
      low    = 0.9876
      high   = 1.011
    }

    figure "enqueue_latency_ms_p95" {
      unit   = "ms"
      base   = 0.3881
      change = 0.3823
      ratio  = 0.9857
      low    = 0.9528
      high   = 1.02
    }

    figure "enqueue_latency_ms_p99" {
      unit   = "ms"
      base   = 0.7006
      change = 0.694
      ratio  = 0.9915
      low    = 0.9543
      high   = 1.03
    }

    figure "cycle_latency_ms_p50" {
      unit   = "ms"
      base   = 0.3057
      change = 0.3052
      ratio  = 0.9972
      low    = 0.9839
      high   = 1.011
    }

    figure "cycle_latency_ms_p95" {
      unit   = "ms"
      base   = 0.651
      change = 0.6433
      ratio  = 0.9895
      low    = 0.9529
      high   = 1.028
    }

    figure "cycle_latency_ms_p99" {
      unit   = "ms"
      base   = 1.03
      change = 1.027
      ratio  = 0.9946
      low    = 0.9615
      high   = 1.029
    }
  }
}
