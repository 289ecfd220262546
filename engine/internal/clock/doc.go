// Package clock implements the engine's clock, and the estimates of the other nodes' clocks in a
// cluster.
//
// # The clock
//
// A Clock begins at the wall clock's reading and never decreases. It advances with the monotonic
// clock. It reads the wall clock every 100 ms, and while it differs from the wall clock, it runs 2
// % faster or slower than the monotonic one (SlewPPM). So
//
//   - within a time d of the monotonic clock it advances by at least 0.98 d and at most 1.02 d,
//     independent of the wall clock;
//   - after a step of the wall clock by s it agrees with the wall clock again after 50 s: 10 s take
//     8 min 20 s;
//   - it follows a wall clock that drifts by less than 2 %, to within the wall clock's drift in 100
//     ms.
//
// So a forward step of the wall clock does not expire a lease immediately, and a backward step does
// not delay a task: a step changes the duration of a lease, a delay or a retention by at most 2 %.
// Until the clock agrees again, times of day (a not-before time, the time in an answer) are wrong
// by the remaining difference. Correcting a step of hours takes days. A restart of the server
// adopts the wall clock's reading immediately, which moves all stored deadlines by the remaining
// difference. The same applies after a suspension of the host, during which its monotonic clock
// stopped.
//
// # Clocks of several nodes
//
// An Estimate is one node's estimate of another node's clock. The node requests a reading and
// records when it sent the request and when the answer arrived. The reading was taken between these
// two, so half of the round trip bounds the error. The error grows with the estimate's age, since
// the other clock may be slewed.
//
// Let S be the configured bound. A voter leads only while its clock differs by at most S from the
// median of the voters that answered (Deviation). An even number of clocks has two middle ones, and
// both count: if the clocks of the only two voters differ by more than S, neither leads, because it
// is unknown which clock is right. Answers with an error above S/4 (ErrorMax) do not count.
//
// # The lease grace
//
// A lease that the leader grants at its time g for the duration l ends at g+l. After a failover,
// the new leader decides by its own clock when the lease ends. It adds a grace G to leases that
// another leader granted, so that it does not lease the task again too early. With
//
//	S   the largest difference of a leader's clock from the median of the voters
//	E   the largest error of an estimate, S/4
//	P   the time for which a leader may continue after the estimates were compared: two seconds
//	R   the slew, 2 %: the difference of two clocks changes by at most 2 R per unit of time
//
// a leader that grants or ends leases differs from the median by at most S + E + 2 R P. Two
// successive leaders therefore differ by at most twice as much, and
//
//	G = 2 (S + E + 2 R P)
//
// is sufficient: a task is not leased again before its lease has ended by the clock of the node
// that granted it. By a correct clock, a lease lasts for at least l/(1+R), which is 2 % less than
// l. With S = 500 ms the grace is 1.41 s.
//
// The inequality assumes that a majority of the voters' clocks are correct: if most clocks are
// wrong by the same amount, the correct clock is the one that differs. It also assumes that the
// answers of a majority arrive. Without a majority, no node leads for long. However, a leader whose
// Raft messages arrive is not stopped if only its time queries are lost.
package clock
