// Package planted slows the engine down on purpose, or makes it wrong, in one of a few ways whose remedy is known, so that what a
// measurement says of the cause can be checked.
//
// The faults are in binaries built with the tag planted only. In all others the functions are empty, and the compiler
// leaves nothing of them. With the tag, the environment variable PRONY_PLANTED names the fault, with an amount where
// another than its own is wanted: "cpu", "cpu:500ns", or "fsync:1/400" for one fsync in 400 tasks.
//
//	lock     a mutex that the deciding goroutine needs for each command is held for 20 us after each commit
//	channel  each command passes a channel of capacity one between deciding and publishing, 64 times
//	cpu      5 us of computing for each task enqueued
//	alloc    64 KiB, in pieces of 512 bytes, allocated for each task enqueued
//	fsync    an fsync of a file beside the store for each task enqueued
//	timer    2 ms of waiting before each commit
//	rpc      1 ms of sleep for each frame of a stream and each other call, over gRPC or REST
//	scan     each lease batch reads its lane from 2,000 tasks before, which are deleted
//
// Five more have amounts that are calibrated, so that a build loses a known part of its rate or CPU time. A step is a nanosecond or
// two of computing.
//
//	work        1,000 steps of computing for each task enqueued, by the deciding goroutine
//	background  1,000 steps for each task enqueued, by a goroutine of their own beside the others
//	wait        3 us of waiting for each task enqueued on average, in sleeps that hold a mutex that publishing needs
//	decay       steps of computing for each task enqueued, 100 more each minute since the first task, by the deciding goroutine
//	client      steps of computing for each task sent, by the client: see package plantedclient
//
// These slow down one way of calling, or take more of something with each task:
//
//	unary       10,000 steps of computing for each unary call over gRPC
//	rest        10,000 steps of computing for each call over REST
//	writes      the record of a queue is written once more in each commit
//	leak        1 KiB of memory for each task enqueued, which is kept
//	goroutines  one goroutine for each 100 frames and calls, which stays
//
// The rest make the engine wrong instead of slow. The amount says in how many tasks or calls the fault comes once: 1,000, or 1 where that is
// said.
//
//	lost       the last task of an enqueue is acknowledged and not stored
//	dropped    a completion is acknowledged and not done: the task stays leased for another second
//	again      a completion is acknowledged, and the task is ready again
//	twice      a leased task is given to a second stream as well, or twice to the only stream
//	stranger   a leased task is given to a stream of another tenant as well
//	read       a task can be read by any tenant that has its id (1)
//	list       the tasks of a queue can be listed with an administrator's token of any tenant (1)
//	stats      the figures of a queue can be read with an administrator's token of any tenant (1)
//	await      a wait for the end of a task is answered at once, with the task done (1)
//	reversed   the tasks of one delivery come in the opposite order
//	flipped    the first byte of a payload is changed before a delivery
//	forgotten  a task that waits in the store, and not in memory, is passed over when tasks are read, as after a restart
//	unsynced   a store of its own log acknowledges before the fsync, at durability sync and interval (1)
//	early      a leader acknowledges a commit before the followers have it (1)
//
// PRONY_PLANTED_CLOCK makes the process's wall clock wrong, as the engine's clock reads it. It names a file with an offset, and maybe a
// drift in parts per million since the start: "10s", or "-2s 5000". The file is read at each reading, so that a test steps the clock by
// putting another one in its place.
package planted
