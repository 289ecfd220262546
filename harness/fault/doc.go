// Package fault injects faults into a cluster under load, and scores their effect on the load. It
// kills, restarts, pauses and wipes nodes, cuts and slows the links between them, and removes
// members.
//
// [Inject] executes the [Plan] of a round: each fault at its time from the window's start, the next
// one after the nodes have recovered. It acts on the nodes through [Cluster] and on the proxies
// between them through [Links], and returns an [Event] for each fault. It ends each fault even if
// its context ends: it resumes paused nodes and restores cut links.
//
// [Sample] counts cycles during the faults. [Judge] scores each event from the counts: the outage,
// how far the rate fell below the rate before that fault, when the rate recovered, if it did, and
// the rate after the recovery.
//
// Inject and Sample each run in one goroutine, and return when they are done or their context is.
// An error of a fault names the kind, the target and the number; faults after the failed one are
// not injected.
package fault
