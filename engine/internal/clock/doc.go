// Package clock implements the engine's clock. For clusters, it also implements estimates of the
// clocks of other nodes.
//
// # The clock
//
// A Clock starts at the time of the wall clock and never decreases. It advances with the monotonic
// clock. Every 100 ms it reads the wall clock. While the two differ, the Clock runs 2 % faster or
// slower than the monotonic clock (SlewPPM). So
//
//   - within a time d of the monotonic clock it advances by at least 0.98 d and at most 1.02 d,
//     independent of the wall clock;
//   - after a step of the wall clock by s it agrees with the wall clock again after 50 s: 10 s take
//     8 min 20 s;
//   - it follows a wall clock that drifts by less than 2 %, to within the wall clock's drift in 100
//     ms.
//
// So if the wall clock steps forward, leases do not expire immediately, and if it steps backward,
// tasks are not delayed: a step changes the duration of a lease, a delay or a retention by at most
// 2 %. Until the Clock agrees with the wall clock again, times of day (a not-before time, the time
// in an answer) are wrong by the remaining difference. After a step of hours, the correction lasts
// for days. When the server restarts, it adopts the time of the wall clock immediately. This shifts
// all stored deadlines by the remaining difference. The same happens after a suspension of the
// host, which stops its monotonic clock.
//
// # Clocks of several nodes
//
// An Estimate is what one node knows of another node's clock. The node requests a reading, and
// records when it sent the request and when the answer arrived. The reading was taken between these
// two times, so the error is at most half of the time between them. The maximum error grows with
// the age of the estimate, since the other clock may be slewed.
//
// Let S be the configured limit. A voter leads only while its clock differs by at most S from the
// median of the clocks of the voters that answered (Deviation). If the number of clocks is even,
// there are two middle clocks, and the difference from both must be at most S. So if the clocks of
// the only two voters differ by more than S, neither leads, because it is unknown which clock is
// right. Answers with a maximum error above S/4 (ErrorMax) are ignored.
//
// # The lease grace
//
// If the leader grants a lease at time g of its clock for a duration l, the lease ends at g+l.
// After a failover, the new leader decides by its own clock when the lease has ended. To avoid
// leasing the task again too early, it adds a grace G to leases that another leader granted. With
//
//	S   the largest difference of a leader's clock from the median of the voters
//	E   the largest error of an estimate, S/4
//	P   the time for which a leader may continue after the estimates were compared: two seconds
//	R   the slew, 2 %: the difference of two clocks changes by at most 2 R per unit of time
//
// the clock of a leader that grants or ends leases differs from the median by at most S + E + 2 R
// P. The clocks of two successive leaders therefore differ by at most twice as much, and
//
//	G = 2 (S + E + 2 R P)
//
// is sufficient: a task is not leased again before its lease has ended by the clock of the node
// that granted the lease. By a correct clock, a lease lasts for at least l/(1+R), which is about 2
// % less than l. With S = 500 ms the grace is 1.41 s.
//
// The inequality assumes that the clocks of a majority of the voters are correct: if most clocks
// are wrong by the same amount, a correct clock is the one that deviates. It also assumes that the
// answers of a majority arrive. Without a majority, no node leads for long. However, if only the
// time queries of a leader are lost and its Raft messages arrive, the leader is not stopped.
package clock
