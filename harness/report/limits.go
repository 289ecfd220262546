package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// limits says what the figures of r do not show, one sentence or two each. A statement that depends on the
// scenario is made only where the scenario says that it holds.
func limits(r *result.Result) []string {
	m := r.Manifest
	var list []string
	if kind, found := m.Setting("workload.arrivals.kind"); found && kind == "closed" {
		list = append(list, "Open load. The load is closed: a producer sends its next call when the last one was answered."+
			" A stall therefore holds back the calls that would have met it, and the latencies omit what was never sent.")
	}
	if kind, found := m.Setting("topology.kind"); found && kind == "single" {
		list = append(list, fmt.Sprintf("A server that has its host to itself. Client and server share the %s and their memory"+
			" bandwidth, so the throughput is that of both together.", plural(max(m.Host.CPUs, 1), "CPU")),
			"A network. Client and server are on one host, and no packet leaves it.",
			"Replication and failover. One server holds the only copy.")
	}
	if shards, found := m.Setting("topology.shards"); found && shards == "1" {
		list = append(list, "Scaling over shards. There is one shard.")
	}
	list = append(list, durabilityLimit(m.Durability())...)
	kind, _ := m.Setting("workload.payload.kind")
	if size, found := m.Setting("workload.payload.bytes_max"); found && kind == "fixed" {
		list = append(list, fmt.Sprintf("Other payload sizes. Every payload has %s bytes.", text(size)))
	}
	if window := windows(timedRounds(r)); window != "" {
		list = append(list, fmt.Sprintf("Long runs. Each round starts on an empty store and its window is %s: compaction of a large store,"+
			" growth of memory and drift over hours are not seen.", window))
	}
	if len(m.Settings("faults")) == 0 {
		list = append(list, "Faults. Nothing was killed, paused or slowed: the figures say nothing about recovery.")
	}
	list = append(list,
		"Change. This is one build on one host at one time; without an interleaved comparison and a control, a difference"+
			" from another page is not evidence of a change.")
	if m.Build.Dirty {
		list = append(list, "The commit alone. The working tree had changes that the commit does not have.")
	}
	return list
}

func durabilityLimit(durability string) []string {
	switch durability {
	case "none":
		return []string{"Durable writes. With durability `none` the server acknowledges when a write has reached the operating" +
			" system: a loss of power may lose acknowledged tasks, and the cost of fsync is in no figure here."}
	case "interval":
		return []string{"Durability of each write. With durability `interval` the server acknowledges before fsync: a loss of power" +
			" may lose the tasks acknowledged since the last one."}
	case "sync":
		return []string{"Other disks. With durability `sync` every figure depends on the fsync latency of this host's file system."}
	default:
		return []string{"Durability. The scenario as stored does not say when the server acknowledged."}
	}
}

func timedRounds(r *result.Result) []result.Round {
	timed, _ := split(r.Rounds)
	return timed
}
