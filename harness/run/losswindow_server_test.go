package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The real server's window of loss is empty at durability sync. At durability interval each fsync
// adds a peak.
func TestTheWindowOfLossOfTheRealServer(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"sync", "interval"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Topology.Durability = durability
			// The window lasts at least 750 ms: long enough for several fsyncs.
			s.Workloads[0].Batch, s.Phases.Tasks = 1, 600
			s.Workloads[0].Think = scenario.Think{Kind: scenario.ThinkFixed, Min: 5 * time.Millisecond, Max: 5 * time.Millisecond}
			if durability == "interval" {
				s.Topology.SyncInterval = 5 * time.Millisecond
			}
			e := execute(t, s, real(t))
			require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
			l := e.result.Rounds[0].LossWindow
			require.NotNil(t, l)
			most := e.result.Metrics[result.UnsyncedTasksMax]
			assert.InDelta(t, l.Tasks.Max, most.Median, 0)
			assert.Contains(t, e.result.Metrics, result.UnsyncedMsP99)
			if durability == "sync" {
				assert.Equal(t, result.PeaksOf([]result.Peak{{UpTo: 0, Count: 1}}), l.Tasks)
				return
			}
			assert.Greater(t, l.Tasks.Count, uint64(1))
			assert.Positive(t, l.Tasks.Max)
			assert.Positive(t, l.Ms.P99)
		})
	}
}
