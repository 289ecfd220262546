// Package clock implements the engine's clock, and the estimates of the other nodes' clocks in a cluster.
//
// # The clock
//
// A Clock begins at the wall clock's reading and never goes back. It advances with the monotonic clock. It reads the wall clock every
// 100 ms, and while it differs from the wall clock, it runs 2 % faster or slower than the monotonic one (SlewPPM). So
//
//   - in a time d of the monotonic clock it advances by at least 0.98 d and at most 1.02 d, whatever happens to the wall clock;
//   - after a step of the wall clock by s it agrees with the wall clock again after 50 s: 10 s take 8 min 20 s;
//   - it follows a wall clock that drifts by less than 2 %, to within the wall clock's drift in 100 ms.
//
// So a forward step of the wall clock does not expire a lease at once, and a backward step does not delay a task: a step changes the
// duration of a lease, a delay or a retention by at most 2 %. Until the clock agrees again, times of day (a not-before time, the time in
// an answer) are wrong by the rest of the step. A step by hours takes days to correct: restart the server, which then takes the wall
// clock's reading at once. That restart moves all stored deadlines by the rest of the step. The same holds after a suspension of the host,
// during which its monotonic clock stood still.
//
// # Clocks of several nodes
//
// An Estimate is what one node knows of another node's clock. The node requests a reading and records when it sent the request and when
// the answer arrived. The reading was taken between these two, so that half of the round trip bounds the error. The error grows with the
// estimate's age, since the other clock may be slewed.
//
// Let S be the configured bound. A voter leads only while its clock differs by at most S from the median of the voters that
// answered (Deviation). An even number of clocks has two middle ones, and both count: if the clocks of the only two voters differ by more
// than S, neither leads, because it is unknown which clock is right. Answers with an error above S/4 (ErrorMax) do not count.
//
// # The lease grace
//
// A lease that the leader grants at its time g for the duration l ends at g+l. After a failover, the new leader decides by its own
// clock when that is. It adds a grace G to leases that it did not grant itself, so that it does not lease the task again too early.
// With
//
//	S   how far a leader's clock may differ from the median of the voters
//	E   the largest error of an estimate, S/4
//	P   how long a leader may continue after the estimates were compared: two seconds
//	R   the slew, 2 %: the difference of two clocks changes by at most 2 R per unit of time
//
// a leader that grants or ends leases differs from the median by at most S + E + 2 R P. Two leaders, one after the other, so
// differ by at most twice as much, and
//
//	G = 2 (S + E + 2 R P)
//
// is enough: a task is not leased again before its lease has ended by the clock of the node that granted it. By a correct clock, a
// lease lasts for at least l/(1+R), which is 2 % less than l. With S = 500 ms the grace is 1.41 s.
//
// The inequality assumes that a majority of the voters' clocks are right: if most clocks are wrong by the same amount, the right
// clock is the one that differs. It also assumes that the answers of a majority arrive. Without a majority, no node leads for long.
// But a leader whose Raft messages arrive while its time queries do not is not stopped.
package clock
