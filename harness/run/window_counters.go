package run

import (
	"slices"
	"strconv"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// Counters of a server.
const (
	// completedCounter counts the tasks that the server completed in all queues. The server exports
	// this counter even if its metrics do not have queue labels.
	completedCounter = "prony_completed_total"

	entriesCounter       = "prony_raft_entries_total"
	entryBytesCounter    = "prony_raft_entry_bytes_total"
	appendSecondsCounter = "prony_raft_append_seconds"
	commitSecondsCounter = "prony_raft_commit_seconds"
	electionsCounter     = "prony_raft_elections_total"
)

// fsyncCounters count the fsyncs of the stores and of the log of a cluster.
var fsyncCounters = []string{"prony_storage_fsyncs_total", "prony_raft_log_fsyncs_total"}

// storageCounters maps each per-cycle metric of store operations to its counter.
var storageCounters = map[string]string{
	result.StorageSetsPerCycle:     "prony_storage_sets_total",
	result.StorageGetsPerCycle:     "prony_storage_gets_total",
	result.StorageDeletesPerCycle:  "prony_storage_deletes_total",
	result.StorageSetBytesPerCycle: "prony_storage_set_bytes_total",
	result.StorageScannedPerCycle:  "prony_storage_scanned_keys_total",
}

// counted returns the growth of a counter, summed over all servers. there is false if no server has
// the counter. For a restarted server the growth covers only the last process. It is therefore
// suitable for means and distributions. Use total for a figure that is divided by the window's
// cycles.
func (w *windowProbe) counted(counter string) (sum float64, there bool) {
	for _, s := range w.servers {
		if grown, has := s.delta(counter); has {
			sum, there = sum+grown, true
		}
	}
	return sum, there
}

// total returns the growth of a counter in the window, summed over all servers. known is false if
// no server has the counter or if a server is partial.
func (w *windowProbe) total(counter string) (sum float64, known bool) {
	if w.partial() {
		return 0, false
	}
	return w.counted(counter)
}

// partial reports whether the counters of at least one server do not cover the whole window.
func (w *windowProbe) partial() bool {
	return slices.ContainsFunc(w.servers, func(s *serverProbe) bool { return s.partial })
}

// completed returns the number of tasks that the servers completed between the two readings of
// their counters. It prefers the servers' own counter, which was read together with their other
// counters: the edges of the window differ slightly from these readings. A change of leaders makes
// that counter incomplete; completed then returns the generator's count.
func (w *windowProbe) completed(m *measured) float64 {
	if own, counted := w.total(completedCounter); counted && slices.Equal(w.ledBefore, w.ledAfter) {
		return own
	}
	if len(w.servers) == 0 {
		return float64(m.round.Cycles)
	}
	return float64(m.cyclesOf(w.servers[0].counters))
}

// storage adds the servers' store operations per completed task. Only leaders count operations,
// because the leader decides which operations a task needs. In contrast, each node counts its own
// fsyncs and written bytes. Figures are missing if the servers do not have these counters or if a
// server is partial.
func (w *windowProbe) storage(m *measured) {
	cycles := w.completed(m)
	if cycles <= 0 || len(w.servers) == 0 {
		return
	}
	for metric, counter := range storageCounters {
		if operations, there := w.total(counter); there {
			m.round.Metrics[metric] = operations / cycles
		}
	}
	w.storageSteps(m, cycles)
	if seconds, there := w.total(observe.FsyncSeconds); there {
		m.round.Metrics[result.StorageFsyncUsPerCycle] = 1e6 * seconds / cycles
	}
	if stores, there := w.total(fsyncCounters[0]); there {
		log, _ := w.total(fsyncCounters[1])
		m.round.Metrics[result.StorageFsyncsPerCycle] = (stores + log) / cycles
	}
	if bytes, known := w.server.WrittenBytesPer(m.cyclesOf(w.clocks)); known {
		m.round.Metrics[result.WrittenBytesPerCycle] = bytes / float64(len(w.servers))
	}
}

func (w *windowProbe) raft(m *measured) {
	cycles := w.completed(m)
	if m.round.Nodes == nil || cycles <= 0 {
		return
	}
	// of the node that appended most entries; a node that was cut off has appended fewer
	var entries, logged float64
	for _, s := range w.servers {
		grown, _ := s.delta(entriesCounter)
		bytes, _ := s.delta(entryBytesCounter)
		entries, logged = max(entries, grown), max(logged, bytes)
	}
	if entries > 0 && !w.partial() {
		m.round.Metrics[result.RaftEntriesPerCycle] = entries / cycles
		m.round.Metrics[result.RaftLogBytesPerCycle] = logged / cycles
	}
	all, _ := w.counted(entriesCounter)
	if bytes, there := w.counted(entryBytesCounter); there && all > 0 {
		m.round.Metrics[result.RaftEntryBytesMean] = bytes / all
	}
	for metric, histogram := range map[string]string{
		result.RaftAppendMsMean: appendSecondsCounter, result.RaftCommitMsMean: commitSecondsCounter,
	} {
		seconds, _ := w.counted(histogram + "_sum")
		if n, _ := w.counted(histogram + "_count"); n > 0 {
			m.round.Metrics[metric] = 1e3 * seconds / n
		}
	}
	if elections, there := w.total(electionsCounter); there {
		m.round.Metrics[result.RaftElections] = max(0, elections)
	}
}

// nodes adds the figures of each node of a cluster. It records the leaders at the end of the
// window. If a shard had another leader at the start, it adds a warning.
func (w *windowProbe) nodes(m *measured, loaded bool) {
	if len(w.servers) == 0 || w.servers[0].server.ID == "" {
		return
	}
	for shard, leader := range w.ledAfter {
		if before := w.ledBefore[shard]; before != leader {
			m.warnings = append(m.warnings, "round "+strconv.Itoa(m.round.Number)+": shard "+strconv.Itoa(shard)+
				" was led by "+orNoNode(before)+" at the window's start and by "+orNoNode(leader)+" at its end")
		}
	}
	for _, s := range w.servers {
		n := result.Node{ID: s.server.ID, Metrics: map[string]float64{}}
		for shard, leader := range w.ledAfter {
			if leader == n.ID {
				n.Leads = append(n.Leads, shard)
			}
		}
		if s.peak > 0 {
			n.Metrics[result.ServerRSSMBMax] = float64(s.peak) / 1e6
		}
		if cores, err := s.spent.Cores(); err == nil {
			n.Metrics[result.ServerCPUCores] = cores
		}
		if loaded && m.round.Cycles > 0 {
			s.perCycle(n.Metrics, m.cyclesOf(w.clocks), m.cyclesOf(s.counters))
		}
		m.round.Nodes = append(m.round.Nodes, n)
	}
}

func orNoNode(node string) string {
	if node == "" {
		return "no node"
	}
	return node
}

// perCycle adds the resource usage and the log figures of one node, divided by the cycles of the
// cluster. ofClock is the number of cycles in the period that the CPU clock covers. cycles is the
// number of cycles in the period that the counters cover.
func (s *serverProbe) perCycle(metrics map[string]float64, ofClock, cycles uint64) {
	if us, err := s.spent.CPUMicrosecondsPer(ofClock); err == nil && s.cpuUnknown == nil {
		metrics[result.ServerCPUUsPerCycle] = us
	}
	if bytes, known := s.spent.WrittenBytesPer(ofClock); known {
		metrics[result.WrittenBytesPerCycle] = bytes
	}
	entries, _ := s.delta(entriesCounter)
	bytes, sized := s.delta(entryBytesCounter)
	if entries > 0 && sized {
		metrics[result.RaftEntryBytesMean] = bytes / entries
	}
	if entries > 0 && !s.partial {
		metrics[result.RaftEntriesPerCycle] = entries / float64(cycles)
		if sized {
			metrics[result.RaftLogBytesPerCycle] = bytes / float64(cycles)
		}
	}
	for metric, histogram := range map[string]string{
		result.RaftAppendMsMean: appendSecondsCounter, result.RaftCommitMsMean: commitSecondsCounter,
	} {
		seconds, _ := s.delta(histogram + "_sum")
		if n, _ := s.delta(histogram + "_count"); n > 0 {
			metrics[metric] = 1e3 * seconds / n
		}
	}
	if elections, there := s.delta(electionsCounter); there && !s.partial {
		metrics[result.RaftElections] = max(0, elections)
	}
}
