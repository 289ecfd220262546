package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// nodesSection shows the activity of each node of a cluster in each timed round, and the shards
// that it led.
func nodesSection(p *doc.Document, r *result.Result) {
	columns := columns{
		{">CPU, µs/cycle", result.ServerCPUUsPerCycle},
		{">switches/cycle", result.ServerSwitchesPerCycle},
		{">CPUs", result.ServerCPUCores},
		{">memory, MB", result.ServerRSSMBMax},
		{">written, bytes/cycle", result.WrittenBytesPerCycle},
		{">entries/cycle", result.RaftEntriesPerCycle},
		{">entry, bytes", result.RaftEntryBytesMean},
		{">log, bytes/cycle", result.RaftLogBytesPerCycle},
		{">append, ms", result.RaftAppendMsMean},
		{">commit, ms", result.RaftCommitMsMean},
		{">elections", result.RaftElections},
	}
	var rows [][]string
	for _, round := range r.Rounds {
		if !round.Timed() {
			continue
		}
		for _, n := range round.Nodes {
			row := []string{runs.RoundName(r, round), doc.Code(n.ID), leads(n, round.Nodes)}
			rows = append(rows, append(row, cells(columns, n.Metrics, render.Number)...))
		}
	}
	header := []string{">round", "node", "leads"}
	header = append(header, columns.headers()...)
	runs.Section(p, r, "Nodes",
		"Each row is one node in the window of one timed round. A cycle is one of the cluster, so a column per"+
			" cycle adds up over the nodes, except entries and log: each node appends all entries to its own log. Leads are the"+
			" shards that the node led at the window's end: it decides their commands and proposes them, and the others copy."+
			" Written is the total that the node wrote to storage, log and state through the kernel. An entry is one proposal."+
			" The times are means: of one call that appends to the log, and from a leader's proposal to its effect.",
		header, rows)
}

// leads names the shards that a node led, or "all" or "none".
func leads(n result.Node, all []result.Node) string {
	shards := 0
	for _, other := range all {
		shards += len(other.Leads)
	}
	switch {
	case len(n.Leads) == 0:
		return doc.None
	case shards == len(n.Leads) && shards > 1:
		return "all"
	}
	numbers := slices.Sorted(slices.Values(n.Leads))
	texts := make([]string, len(numbers))
	for i, shard := range numbers {
		texts[i] = strconv.Itoa(shard)
	}
	return strings.Join(texts, ", ")
}
