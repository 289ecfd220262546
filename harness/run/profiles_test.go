package run

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The profiles of several rounds are kept and added up, and say what the engine's locks are.
func TestProfiledRounds(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.ProfiledRounds = 2, 2
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}, {Kind: "block", BlockRate: time.Nanosecond}, {Kind: "goroutine"}}
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	var cycles uint64
	var profiledRounds []int
	for _, r := range e.result.Rounds {
		if r.Profiled {
			cycles += r.Cycles
			profiledRounds = append(profiledRounds, r.Number)
		}
	}
	assert.Equal(t, []int{2, 4}, profiledRounds)
	require.Len(t, e.result.Profiles, 3)
	for _, p := range e.result.Profiles {
		assert.FileExists(t, filepath.Join(e.folder, p.File))
		if p.Kind == "goroutine" {
			assert.Equal(t, 1, p.Rounds)
			assert.Equal(t, e.result.Rounds[3].Cycles, p.Cycles)
			continue
		}
		assert.Equal(t, 2, p.Rounds)
		assert.Equal(t, cycles, p.Cycles)
	}
	for _, round := range []string{"round-02", "round-04"} {
		for _, kind := range []string{"mutex", "block", "goroutine"} {
			assert.FileExists(t, filepath.Join(e.folder, "profiles", round, kind+".pb.gz"))
		}
	}
	var share float64
	for _, l := range e.result.Locks {
		assert.NotEmpty(t, l.Name)
		assert.NotEqual(t, "shard.(*Shard).wait", l.Name, "an idle shard is no lock")
		assert.InDelta(t, l.WaitNs/float64(cycles), l.WaitNsPerCycle, 1e-6)
		share += l.Share
	}
	assert.LessOrEqual(t, share, 1.000001)
}
