// Package serialbudget allows a harness to measure the serial budget of a shard: how much
// additional work per request its deciding goroutine can do before the rate of requests falls.
//
// A build with the tag serialbudget accepts an empty frame of the stream Produce as a no-op
// request. The request passes the stream, the inbox, the deciding goroutine and the publishing
// goroutine like a frame of tasks, and stores nothing. For each no-op request, the deciding
// goroutine computes for the time that PUT /debug/serial-budget?work=DURATION on the admin listener
// set; the initial time is 0. All other builds refuse empty frames and do not have the path.
//
// The work is a number of steps of package compute, so that preemption does not reduce the work.
// The number follows from the time of one step, which the process measures when the work is first
// set.
package serialbudget
