package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// limits lists what the figures of r do not show, in one or two sentences each. It makes a
// statement that depends on the scenario only if the scenario was stored.
func limits(r *result.Result) []string {
	m := r.Manifest
	var list []string
	s := &m.Scenario
	several := len(s.Workloads) > 1
	for _, w := range s.Workloads {
		if len(s.Swept(workloadPath(&w, "arrivals"))) > 0 {
			continue
		}
		for _, says := range arrivalsLimit(w.Arrivals.Kind) {
			list = append(list, ofWorkload(&w, several, says))
		}
	}
	if says := generatorLimit(r); says != "" {
		list = append(list, says)
	}
	if ofScript(r) {
		list = append(list, "The server with a cheaper client. JavaScript makes each call, in one process: the throughput is that of both"+
			" together, and a generator that spends less on a call may reach more. k6 is not profiled, so the page does not show where its CPU time goes.")
	}
	kinds := s.Swept("topology.kind")
	if kind := s.Topology.Kind; kind == scenario.Raft && s.Topology.Hosts != nil {
		list = append(list, fmt.Sprintf("Nodes that have the CPUs of their hosts to themselves. The hosts are network namespaces of one machine: all nodes, the client and"+
			" the forwarder between the hosts share the %s, their memory bandwidth and one disk.", render.Plural(max(m.Host.CPUs, 1), "CPU")),
			"A network's hardware. A process and the kernel simulate delay, loss and bandwidth between nodes. Delay is constant, loss is independent from packet"+
				" to packet, and packets keep their order. None of this affects clients.")
	} else if kind == scenario.Raft || len(kinds) > 0 {
		list = append(list, fmt.Sprintf("Nodes that have their hosts to themselves. All nodes and the client share the %s, their memory"+
			" bandwidth and one disk, so each node's cost reduces the others' and the client's share.", render.Plural(max(m.Host.CPUs, 1), "CPU")),
			"A network. All nodes and the client are on one host, and no packet leaves it: a commit does not wait for a round trip between hosts.")
	} else if kind == "single" || kind == "sharded" {
		list = append(list, fmt.Sprintf("A server that has its host to itself. Client and server share the %s and their memory"+
			" bandwidth, so the throughput is that of both together.", render.Plural(max(m.Host.CPUs, 1), "CPU")),
			"A network. Client and server are on one host, and no packet leaves it.",
			"Replication and failover. One server holds the only copy.")
	}
	if s.Topology.Kind == scenario.Remote {
		list = append(list, "Other load on the servers' hosts in the windows. Steal, pressure, throttling, frequency and foreign CPU are those of the"+
			" generator's host.",
			"Short peaks of the servers' memory. It is the largest of the readings, one per second.",
			"The time of a slow commit. It is from another host's clock, and clocks of two hosts are not compared.",
			"The bytes that a server wrote to its disk.")
		if !s.Topology.Clustered() {
			list = append(list, "Replication and failover. One server holds the only copy.")
		}
	}
	switch s.Topology.Kind {
	case scenario.Embedded:
		list = append(list, "A server apart from its client. Both are one process: the CPU time, the memory and the profiles are those of both together, and"+
			" no byte passes a socket.", "Replication and failover. One server holds the only copy.")
	case scenario.ByProgram:
		list = append(list, "The inside of the servers. They are not Prony's: there are no profiles, locks and counters.",
			"The program between. Calls to the servers pass a driver program, whose CPU time counts as the client's. Its cost per call and task is the same for every target.",
			fmt.Sprintf("Servers that have their host to themselves. Client, driver program and servers share the %s.", render.Plural(max(m.Host.CPUs, 1), "CPU")))
	case scenario.NoTopology:
		list = append(list, "A server. There is none: the figures show only the load generator, the recorder and the ledger.")
	}
	if s.Topology.Shards == 1 && len(s.Swept("topology.shards")) == 0 {
		list = append(list, "Scaling over shards. There is one shard.")
	}
	if s.Topology.Kind == scenario.ByProgram && strings.Contains(m.Durability(), ", ") {
		list = append(list, "One guarantee. A point with a weaker guarantee may lose tasks that another one keeps: their figures are not comparable.")
	} else {
		list = append(list, durabilityLimit(m.Durability())...)
	}
	for _, w := range s.Workloads {
		if w.Payload.Kind == "fixed" {
			list = append(list, ofWorkload(&w, several, fmt.Sprintf("Other payload sizes. Every payload has %d bytes.", w.Payload.Max)))
		}
	}
	if window := windows(runs.Timed(r)); window != "" && !long(r) {
		list = append(list, fmt.Sprintf("Long runs. Each round starts on an empty store and its window is %s: it does not show compaction of a large store,"+
			" growth of memory or drift over hours.", window))
	}
	switch {
	case len(s.Faults) > 0:
	case s.Backlog != nil && s.Backlog.Restart != "none":
		list = append(list, "Faults under load. The server was ended without load; nothing was killed, paused or slowed under load.")
	default:
		if s.Topology.Nodes > 0 || len(kinds) > 0 {
			list = append(list, "Failover. No node was killed, paused or cut off: the figures do not show its cost.")
			break
		}
		list = append(list, "Faults. Nothing was killed, paused or slowed: the figures do not show recovery.")
	}
	list = append(list,
		"Change. This is one build on one host at one time; without an interleaved comparison and a control, a difference"+
			" from another page is not evidence of a change.")
	if m.Build.Dirty {
		list = append(list, "The commit alone. The working tree had uncommitted changes.")
	}
	return list
}

// longWindow is the shortest window, in seconds, whose series can show slow effects.
const longWindow = 300

// long reports whether the rounds have a series of a long window.
func long(r *result.Result) bool {
	for _, round := range r.Rounds {
		if len(round.Series) > 0 && round.WindowSeconds >= longWindow {
			return true
		}
	}
	return false
}

func arrivalsLimit(kind string) []string {
	switch kind {
	case "closed":
		return []string{"Open load. The load is closed: a producer sends its next call after the answer to the last one." +
			" A stall therefore delays the calls that it would have affected, and the latencies omit the calls that were never sent."}
	case "rate":
		return []string{"Capacity. The load is open at one rate: the throughput is the offered load, not the server's capacity."}
	case "ramp":
		return []string{"Steady load. The rate changes evenly over the window: a figure of the whole window does not belong to a single rate."}
	case "stages":
		return []string{"Steady load. The rate changes in stages over the window: the throughput is the offered load, and a figure of the whole window does not belong to a single rate."}
	case "burst":
		return []string{"Capacity. The load is open at two rates in turn: the throughput is the offered load, and a percentile covers both rates."}
	case "none":
		return []string{"Load. Nothing arrives: the figures show an idle server."}
	}
	return nil
}

func durabilityLimit(durability string) []string {
	switch durability {
	case "none":
		return []string{"Durable writes. With durability `none` the server acknowledges when a write has reached the operating" +
			" system: a loss of power may lose acknowledged tasks, and no figure here includes the cost of fsync."}
	case "interval":
		return []string{"Durability of each write. With durability `interval` the server acknowledges before fsync: a loss of power" +
			" may lose the tasks acknowledged since the last one."}
	case "sync":
		return []string{"Other disks. With durability `sync` every figure depends on the fsync latency of this host's file system."}
	case "memory", "os", "majority":
		return []string{"Durable writes. With the guarantee `" + durability + "` a server acknowledges before an fsync: a loss of power may lose acknowledged tasks."}
	case "fsync", "majority_fsync":
		return []string{"Other disks. With the guarantee `" + durability + "` every figure depends on the fsync latency of this host's file system."}
	default:
		return []string{"Durability. The stored scenario does not say when the server acknowledged."}
	}
}
