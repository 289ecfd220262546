// Package fault injects faults into a cluster under load, and scores their effect on the load. It
// kills, restarts, pauses and wipes nodes, cuts and slows the links between them, and removes
// members.
//
// [Inject] executes the [Plan] of a round. It injects each fault at its time since the window's
// start, but not before the nodes have recovered from the previous fault. It controls the nodes
// through [Cluster] and the proxies between them through [Links]. It returns an [Event] for each
// fault. Even if its context is done, it ends each fault: it resumes paused nodes and restores
// links that were cut.
//
// [Sample] counts cycles during the faults. From the counts, [Judge] computes a score for each
// event: the length of the outage, how far the rate fell below the rate before the fault, whether
// and when the rate recovered, and the rate after the recovery.
//
// Inject and Sample each run in the goroutine of their caller. They return when they have finished
// or their context is done. If a fault fails, the error names its kind, target and number, and
// later faults are not injected.
package fault
