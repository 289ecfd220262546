// Package fault injects faults into a cluster under load, and scores their effect on the load. It kills, restarts, pauses and
// wipes nodes, cuts and slows the links between them, and removes members.
//
// Inject executes the plan of a round: each fault at its time from the window's start, the next one when the nodes have recovered.
// Sample counts cycles meanwhile, and Judge scores each fault by them: the outage, how deep the rate fell, and when it recovered.
// Inject and Sample return when they are done or their context is.
package fault
