// Package fault injects faults into a cluster under load, and scores their effect on the load. It kills, restarts, pauses and
// wipes nodes, cuts and slows the links between them, and removes members.
//
// [Inject] executes the [Plan] of a round: each fault at its time from the window's start, the next one when the nodes have
// recovered. It reaches the nodes through [Cluster] and the proxies between them through [Links], returns an [Event] for each
// fault, and ends each fault also when its context ends: a paused node goes on, a cut link carries again.
//
// [Sample] counts cycles meanwhile. [Judge] scores each event by the counts: the outage, how deep the rate fell below the rate
// before that fault, when the rate recovered, if it did, and which rate the load came back to.
//
// Inject and Sample belong to one goroutine each, and return when they are done or their context is. An error of a fault names
// the kind, the target and the time; faults after the one that failed are not injected.
package fault
