package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// threeNodes is a probe of a cluster with two shards in which n1 led both and n3 appended less than
// the others.
func threeNodes() *windowProbe {
	w := &windowProbe{counters: counters{ledBefore: []string{"n1", "n1"}, ledAfter: []string{"n1", "n1"}}}
	for i, id := range []string{"n1", "n2", "n3"} {
		s := &serverProbe{
			server: &topology.Server{ID: id}, peak: uint64(i+1) * 1e6,
			spent: observe.Spent{
				CPU: time.Duration(i+1) * time.Millisecond, Wall: 10 * time.Millisecond, Written: observe.Count{N: uint64(i+1) * 3000, Known: true},
				Switches: observe.Count{N: uint64(i+1) * 20, Known: true},
			},
			countersBefore: map[string]float64{
				entriesCounter: 10, entryBytesCounter: 1000, appendSecondsCounter + "_sum": 1, appendSecondsCounter + "_count": 5,
				electionsCounter: 1,
			},
			countersAfter: map[string]float64{
				entriesCounter: 60, entryBytesCounter: 11000, appendSecondsCounter + "_sum": 1.5, appendSecondsCounter + "_count": 30,
				electionsCounter: 1, "prony_storage_sets_total": 0,
			},
		}
		w.servers = append(w.servers, s)
		if i == 0 {
			w.clocks.server = s.spent
			s.countersAfter["prony_storage_sets_total"] = 420
			s.countersAfter[observe.FsyncSeconds] = 0.004
			s.countersAfter[completedCounter] = 200
			s.countersAfter[commitSecondsCounter+"_sum"], s.countersAfter[commitSecondsCounter+"_count"] = 0.1, 50
		} else {
			w.clocks.server = w.clocks.server.Plus(s.spent)
		}
	}
	w.servers[2].countersAfter[entriesCounter] = 50
	w.servers[2].countersAfter[entryBytesCounter] = 9000
	w.clocks.servers, w.counters.servers = w.servers, w.servers
	return w
}

func TestFiguresOfACluster(t *testing.T) {
	t.Parallel()
	w := threeNodes()
	m := &measured{round: result.Round{Number: 4, Cycles: 100, Metrics: map[string]float64{}}}
	assert.NoError(t, w.spent(m, true))
	assert.InDeltaMapValues(t, map[string]float64{
		result.ServerCPUCores: 0.6, result.ServerCPUUsPerCycle: 60, result.ClientCPUUsPerCycle: 0,
		result.StorageSetsPerCycle:    2.1, // by the servers' count of 200 cycles
		result.StorageFsyncUsPerCycle: 20,
		result.WrittenBytesPerCycle:   60, // 18,000 bytes for 100 cycles, on three nodes
		result.ServerSwitchesPerCycle: 1.2,
		result.RaftEntriesPerCycle:    0.25,
		result.RaftEntryBytesMean:     200,
		result.RaftLogBytesPerCycle:   50,
		result.RaftAppendMsMean:       20,
		result.RaftCommitMsMean:       2,
		result.RaftElections:          0,
	}, m.round.Metrics, 1e-9)
	assert.Empty(t, m.warnings)
	nodes := m.round.Nodes
	assert.Equal(t, []int{0, 1}, nodes[0].Leads)
	assert.Empty(t, nodes[1].Leads)
	assert.InDeltaMapValues(t, map[string]float64{
		result.ServerRSSMBMax: 3, result.ServerCPUCores: 0.3, result.ServerCPUUsPerCycle: 30, result.WrittenBytesPerCycle: 90, result.ServerSwitchesPerCycle: 0.6,
		result.RaftEntriesPerCycle: 0.4, result.RaftEntryBytesMean: 200, result.RaftLogBytesPerCycle: 80, result.RaftAppendMsMean: 20, result.RaftElections: 0,
	}, nodes[2].Metrics, 1e-9)
	assert.InDelta(t, 2, nodes[0].Metrics[result.RaftCommitMsMean], 1e-9, "only a leader proposes")
}

// A change of leader interrupts the servers' count of completed tasks: the window's cycles replace
// it.
func TestLeaderThatChanged(t *testing.T) {
	t.Parallel()
	w := threeNodes()
	w.counters.ledAfter = []string{"n1", ""}
	m := &measured{round: result.Round{Number: 4, Cycles: 100, Metrics: map[string]float64{}}}
	assert.NoError(t, w.spent(m, true))
	assert.InDelta(t, 4.2, m.round.Metrics[result.StorageSetsPerCycle], 1e-9)
	assert.Equal(t, []string{"round 4: shard 1 was led by n1 at the window's start and by no node at its end"}, m.warnings)
	assert.Equal(t, []int{0}, m.round.Nodes[0].Leads)
}

// A server without a counter has no figure of it: a 0 would be a measurement.
func TestFiguresOfANodeWithoutACounter(t *testing.T) {
	t.Parallel()
	s := threeNodes().servers[0]
	delete(s.countersBefore, entryBytesCounter)
	delete(s.countersAfter, entryBytesCounter)
	metrics := map[string]float64{}
	s.perCycle(metrics, 100, 100)
	assert.InDelta(t, 0.5, metrics[result.RaftEntriesPerCycle], 1e-9)
	assert.NotContains(t, metrics, result.RaftLogBytesPerCycle)
	assert.NotContains(t, metrics, result.RaftEntryBytesMean)
}

// The counters of an ended process are lost. The counts of the others are not divided by the cycles
// of the whole window, so the figure is missing.
func TestCountersOfAServerThatDidNotLiveThroughTheWindow(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*serverProbe){
		"it is down": func(s *serverProbe) { s.countersAfter, s.peak = nil, 0 },
		"it was restarted": func(s *serverProbe) {
			s.countersBefore = nil
			s.countersAfter = map[string]float64{entriesCounter: 10, entryBytesCounter: 4000, electionsCounter: 1, "prony_storage_sets_total": 30}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := threeNodes()
			ended := w.servers[1]
			end(ended)
			ended.partial = true
			for _, s := range []*observe.Spent{&ended.spent, &w.clocks.server} {
				s.Written, s.Switches = observe.Count{}, observe.Count{}
			}
			m := &measured{round: result.Round{Cycles: 100, Metrics: map[string]float64{}}}
			require.NoError(t, w.spent(m, true))
			for _, metric := range []string{
				result.StorageSetsPerCycle, result.WrittenBytesPerCycle, result.ServerSwitchesPerCycle, result.RaftEntriesPerCycle, result.RaftLogBytesPerCycle,
				result.RaftElections,
			} {
				assert.NotContains(t, m.round.Metrics, metric)
				assert.NotContains(t, m.round.Nodes[1].Metrics, metric)
			}
			assert.InDelta(t, 20, m.round.Metrics[result.RaftAppendMsMean], 1e-9, "a mean needs no cycles")
			assert.InDelta(t, 60, m.round.Metrics[result.ServerCPUUsPerCycle], 1e-9, "the kernel reports the usage of an ended process")
			assert.InDelta(t, 0.5, m.round.Nodes[0].Metrics[result.RaftEntriesPerCycle], 1e-9, "a node that lived through the window counted all of it")
		})
	}
}

// An idle cluster has nodes but no figures per cycle.
func TestIdleCluster(t *testing.T) {
	t.Parallel()
	w := threeNodes()
	m := &measured{round: result.Round{Metrics: map[string]float64{}}}
	assert.NoError(t, w.spent(m, false))
	assert.Equal(t, map[string]float64{result.ServerCPUCores: 0.6}, m.round.Metrics)
	assert.Len(t, m.round.Nodes, 3)
	assert.Equal(t, map[string]float64{result.ServerRSSMBMax: 1, result.ServerCPUCores: 0.1}, m.round.Nodes[0].Metrics)
}
