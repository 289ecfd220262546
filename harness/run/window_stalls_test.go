package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// counting returns the metrics of slow commits with one cause.
func counting(cause string, commits, seconds float64) observe.Metrics {
	label := `{cause="` + cause + `"}`
	return observe.Metrics{Values: map[string]float64{slowCommitsCounter + label: commits, slowSecondsCounter + label: seconds}}
}

// A round's slow commits are those that ended in the window, in seconds since its start, with the
// causes that all servers counted.
func TestStallsOfTheServers(t *testing.T) {
	began := time.Unix(1_000, 0)
	window := profile.Span{From: profile.Mark{At: began}, To: profile.Mark{At: began.Add(10 * time.Second)}}
	w := counters{servers: []*serverProbe{
		stageProbe(counting("flush", 3, 0.5), counting("flush", 5, 0.75)),
		stageProbe(observe.Metrics{}, counting("flush", 1, 0.25)),
		stageProbe(observe.Metrics{}, observe.Metrics{}), // it was down at the end
	}}
	w.servers[0].server = &topology.Server{ID: "n1"}
	w.servers[0].stalls = &observe.Stalls{
		SlowMs: 5, Total: 12,
		Commits: []result.SlowCommit{{AtS: 999, Ms: 10}, {AtS: 1_002, Ms: 20, Cause: "flush"}},
		Work:    []result.StoreWork{{Kind: "flush", Store: "0003", AtS: 1_001.5, Ms: 600}, {Kind: "append", Store: "raft", AtS: 1_003, Ms: 6}},
	}
	w.servers[1].stalls = &observe.Stalls{SlowMs: 5, Total: 3, Commits: []result.SlowCommit{{AtS: 1_004, Ms: 8}}}
	var m measured
	w.stalls(&m, window)
	s := m.round.Stalls
	require.NotNil(t, s)
	assert.Equal(t, []result.StallCause{{Cause: "flush", Commits: 3, Ms: 500}}, s.Causes)
	assert.Equal(t, []result.SlowCommit{{AtS: 2, Ms: 20, Cause: "flush", Node: "n1"}, {AtS: 4, Ms: 8}}, s.Commits)
	assert.Equal(t, []result.StoreWork{{Kind: "flush", Node: "n1", Store: "3", AtS: 1.5, Ms: 600}, {Kind: "append", Node: "n1", Store: "raft", AtS: 3, Ms: 6}}, s.Work)
	assert.Equal(t, uint64(2), s.Missing, "only the second server misses commits: the record of the first one begins before the window")
}

func TestStallsThatNoServerRecords(t *testing.T) {
	w := counters{servers: []*serverProbe{stageProbe(observe.Metrics{}, observe.Metrics{})}}
	var m measured
	w.stalls(&m, profile.Span{})
	assert.Nil(t, m.round.Stalls)
}
