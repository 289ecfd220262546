package run

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
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

// counters reads the servers' counters at the edges of the window.
type counters struct {
	servers serverProbes
	cluster *topology.Cluster
	mark    func() profile.Mark
	// leader of each shard at the edges of the window; names are "" for a single server
	ledBefore, ledAfter []string
}

func (c *counters) prepare(ctx context.Context) (err error) {
	if c.ledBefore, err = c.cluster.Leaders(ctx); err != nil {
		return err
	}
	return c.servers.each(func(s *serverProbe) error { return s.scrapeBefore(ctx, c.mark) })
}

func (c *counters) start(context.Context, time.Time) error { return nil }

func (c *counters) stop(ctx context.Context) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := c.servers.each(func(s *serverProbe) error { return s.scrapeAfter(ctx, c.cluster, c.mark) }); err != nil {
		return err
	}
	c.ledAfter, err = c.cluster.Leaders(ctx)
	return err
}

// fill does nothing: the figures of the counters need the cycles, and spent adds them.
func (c *counters) fill(*measured) error { return nil }

// counted returns the growth of a counter, summed over all servers. there is false if no server has
// the counter. For a restarted server the growth covers only the last process. It is therefore
// suitable for means and distributions. Use total for a figure that is divided by the window's
// cycles.
func (c *counters) counted(counter string) (sum float64, there bool) {
	for _, s := range c.servers {
		if grown, has := s.delta(counter); has {
			sum, there = sum+grown, true
		}
	}
	return sum, there
}

// total returns the growth of a counter in the window, summed over all servers. known is false if
// no server has the counter or if a server is partial.
func (c *counters) total(counter string) (sum float64, known bool) {
	if c.partial() {
		return 0, false
	}
	return c.counted(counter)
}

// partial reports whether the counters of at least one server do not cover the whole window.
func (c *counters) partial() bool {
	return slices.ContainsFunc(c.servers, func(s *serverProbe) bool { return s.partial })
}

// completed returns the number of tasks that the servers completed between the two readings of
// their counters. It prefers the servers' own counter, which was read together with their other
// counters: the edges of the window differ slightly from these readings. A change of leaders makes
// that counter incomplete; completed then returns the generator's count.
func (c *counters) completed(m *measured) float64 {
	if own, counted := c.total(completedCounter); counted && slices.Equal(c.ledBefore, c.ledAfter) {
		return own
	}
	if len(c.servers) == 0 {
		return float64(m.round.Cycles)
	}
	return float64(m.cyclesOf(c.servers[0].counters))
}

// storage adds the servers' store operations per completed task. Only leaders count operations,
// because the leader decides which operations a task needs. In contrast, each node counts its own
// fsyncs. Figures are missing if the servers do not have these counters or if a
// server is partial.
func (c *counters) storage(m *measured) {
	cycles := c.completed(m)
	if cycles <= 0 || len(c.servers) == 0 {
		return
	}
	for metric, counter := range storageCounters {
		if operations, there := c.total(counter); there {
			m.round.Metrics[metric] = operations / cycles
		}
	}
	c.storageSteps(m, cycles)
	if seconds, there := c.total(observe.FsyncSeconds); there {
		m.round.Metrics[result.StorageFsyncUsPerCycle] = 1e6 * seconds / cycles
	}
	if stores, there := c.total(fsyncCounters[0]); there {
		log, _ := c.total(fsyncCounters[1])
		m.round.Metrics[result.StorageFsyncsPerCycle] = (stores + log) / cycles
	}
}

func (c *counters) raft(m *measured) {
	cycles := c.completed(m)
	if m.round.Nodes == nil || cycles <= 0 {
		return
	}
	// of the node that appended most entries; a node that was cut off has appended fewer
	var entries, logged float64
	for _, s := range c.servers {
		grown, _ := s.delta(entriesCounter)
		bytes, _ := s.delta(entryBytesCounter)
		entries, logged = max(entries, grown), max(logged, bytes)
	}
	if entries > 0 && !c.partial() {
		m.round.Metrics[result.RaftEntriesPerCycle] = entries / cycles
		m.round.Metrics[result.RaftLogBytesPerCycle] = logged / cycles
	}
	all, _ := c.counted(entriesCounter)
	if bytes, there := c.counted(entryBytesCounter); there && all > 0 {
		m.round.Metrics[result.RaftEntryBytesMean] = bytes / all
	}
	for metric, histogram := range map[string]string{
		result.RaftAppendMsMean: appendSecondsCounter, result.RaftCommitMsMean: commitSecondsCounter,
	} {
		seconds, _ := c.counted(histogram + "_sum")
		if n, _ := c.counted(histogram + "_count"); n > 0 {
			m.round.Metrics[metric] = 1e3 * seconds / n
		}
	}
	if elections, there := c.total(electionsCounter); there {
		m.round.Metrics[result.RaftElections] = max(0, elections)
	}
}

// nodes adds the figures of each node of a cluster. clocks is the period that the CPU time covers.
// nodes records the leaders at the end of the window. If a shard had another leader at the start,
// it adds a warning.
func (c *counters) nodes(m *measured, clocks profile.Span, loaded bool) {
	if len(c.servers) == 0 || c.servers[0].server.ID == "" {
		return
	}
	for shard, leader := range c.ledAfter {
		if before := c.ledBefore[shard]; before != leader {
			m.warnings = append(m.warnings, "round "+strconv.Itoa(m.round.Number)+": shard "+strconv.Itoa(shard)+
				" was led by "+orNoNode(before)+" at the window's start and by "+orNoNode(leader)+" at its end")
		}
	}
	for _, s := range c.servers {
		n := result.Node{ID: s.server.ID, Metrics: map[string]float64{}}
		for shard, leader := range c.ledAfter {
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
			s.perCycle(n.Metrics, m.cyclesOf(clocks), m.cyclesOf(s.counters))
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
	if bytes, known := s.spent.Written.PerCycle(ofClock); known {
		metrics[result.WrittenBytesPerCycle] = bytes
	}
	if switches, known := s.spent.Switches.PerCycle(ofClock); known {
		metrics[result.ServerSwitchesPerCycle] = switches
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
