// Package serialbudget lets a harness measure the serial budget of a shard: how much work for each request the one deciding goroutine
// bears before the rate of requests falls.
//
// A build with the tag serialbudget takes an empty frame of the stream Produce as a no-op request. The request passes the stream, the
// inbox, the deciding goroutine and the publishing goroutine as a frame of tasks does, and stores nothing. The deciding goroutine computes
// for each no-op request as long as PUT /debug/serial-budget?work=DURATION on the admin listener says; at first it does not compute. All
// other builds refuse empty frames and do not have the path.
//
// The work is a number of steps of package compute. The number comes from the time of one step, which the process measures when the work
// is set first, so that a preempted goroutine does no less work than another.
package serialbudget
