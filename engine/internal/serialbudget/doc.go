// Package serialbudget lets a harness measure the serial budget of a shard. The serial budget is
// the additional work per request that the shard's deciding goroutine can do before the rate of
// requests decreases.
//
// A build with the tag serialbudget accepts an empty frame of the stream Produce as a no-op
// request. Such a request passes the stream, the inbox, the deciding goroutine and the publishing
// goroutine in the same way as a frame with tasks, but it stores nothing. For each no-op request,
// the deciding goroutine computes for a time that is initially 0. The request PUT
// /debug/serial-budget?work=DURATION on the admin listener sets this time. All other builds refuse
// empty frames and do not serve that path.
//
// The work is a number of steps of package compute, so that preemption does not reduce it. The
// number is computed from the duration of one step. The process measures this duration when the
// work is set for the first time.
package serialbudget
