// Package planted injects a known fault into the engine, which makes the engine slow or wrong. Such
// faults serve to check what a measurement states about the cause of a problem.
//
// Only binaries built with the tag planted contain the faults. In all others the functions are
// empty, and the compiler removes them. In a binary with the tag, the environment variable
// PRONY_PLANTED selects one fault and, optionally, an amount that differs from the default.
// Examples are "cpu", "cpu:500ns", and "fsync:1/400" for one fsync per 400 tasks.
//
//	lock     a mutex that the deciding goroutine needs for each command is held for 20 us after each commit
//	channel  each command passes a channel of capacity one between deciding and publishing, 64 times
//	cpu      5 us of computing for each task enqueued
//	alloc    64 KiB, in pieces of 512 bytes, allocated for each task enqueued
//	fsync    an fsync of a file in the store's folder for each task enqueued
//	timer    2 ms of waiting before each commit
//	rpc      1 ms of sleep for each frame of a stream and each other call, over gRPC or REST
//	scan     each lease batch reads the 2,000 deleted tasks of its lane that precede it
//
// Five more faults have calibrated amounts, so that a build loses a known part of its rate or CPU
// time. A step is one or two nanoseconds of computation.
//
//	work        1,000 steps of computing for each task enqueued, by the deciding goroutine
//	background  1,000 steps for each task enqueued, by a separate goroutine
//	wait        3 us of waiting for each task enqueued on average, in sleeps that hold a mutex that publishing needs
//	decay       steps of computing for each task enqueued, 100 more each minute since the first task, by the deciding goroutine
//	client      steps of computing for each task sent, by the client: see package plantedclient
//
// These faults slow down one kind of call, or use more of a resource with each task:
//
//	unary       10,000 steps of computing for each unary call over gRPC
//	rest        10,000 steps of computing for each call over REST
//	writes      each commit writes the record of a queue one additional time
//	leak        1 KiB of memory for each task enqueued, which is never freed
//	goroutines  one goroutine for each 100 frames and calls, which never ends
//
// The other faults make the engine wrong instead of slow. The amount is the number of tasks or
// calls per occurrence of the fault. The default is 1,000, or 1 for faults marked with (1).
//
//	lost       the last task of an enqueue is acknowledged and not stored
//	dropped    a completion is acknowledged and not applied: the task stays leased for another second
//	again      a completion is acknowledged, and the task is ready again
//	twice      a leased task is also delivered to a second stream, or twice to the only stream
//	stranger   a leased task is also delivered to a stream of another tenant
//	read       a task can be read by any tenant that has its id (1)
//	list       the tasks of a queue can be listed with an administrator's token of any tenant (1)
//	stats      the figures of a queue can be read with an administrator's token of any tenant (1)
//	await      a wait for the end of a task is answered immediately, with the task done (1)
//	reversed   the tasks of one delivery have the opposite order
//	flipped    the first byte of a payload is changed before a delivery
//	forgotten  a task that is in the store, and not in memory, is skipped when tasks are read, as after a restart
//	unsynced   a store with its own log acknowledges before the fsync, at durability sync and interval (1)
//	doubled    a task with a unique key is stored even if another task holds the key
//	hasty      the final task of a batch does not wait for its members
//	skipped    a due time of a recurring task becomes no task
//	uncancelled  a cancellation is acknowledged and not applied
//	relabelled  the last byte of a task's headers is changed before a delivery
//	early      a leader acknowledges a commit before the followers have it (1)
//
// PRONY_PLANTED_CLOCK injects an error into the wall clock that the engine's clock follows. Its
// value is the name of a file with an offset and, optionally, a drift in parts per million since
// the start, such as "10s" or "-2s 5000". Each reading of the clock reads the file, so that a test
// can step the clock by replacing the file.
package planted
