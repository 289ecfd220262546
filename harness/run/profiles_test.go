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

// The profiles of several rounds are stored and merged, and name the engine's locks.
func TestProfiledRounds(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.ProfiledRounds = 2, 2
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}, {Kind: "block", BlockRate: time.Nanosecond}, {Kind: "goroutine"}}
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	cycles := map[string]uint64{} // by profile and node
	var profiledRounds []int
	for _, r := range e.result.Rounds {
		if r.Profiled {
			profiledRounds = append(profiledRounds, r.Number)
			for _, c := range r.Covered {
				cycles[c.Of+" of "+c.Node] += c.Cycles
			}
		}
	}
	assert.Equal(t, []int{2, 4}, profiledRounds)
	require.Len(t, e.result.Profiles, 6, "profiles of the server and of the generator")
	for i, p := range e.result.Profiles {
		assert.FileExists(t, filepath.Join(e.folder, p.File))
		assert.Equal(t, i >= 3, p.Node == result.GeneratorNode)
		if p.Kind == "goroutine" {
			assert.Equal(t, 1, p.Rounds)
			assert.Equal(t, e.result.Rounds[3].Cycles, p.Cycles)
			continue
		}
		assert.Equal(t, 2, p.Rounds)
		assert.Equal(t, cycles[result.CoveredProfile+p.Kind+" of "+p.Node], p.Cycles)
		assert.Positive(t, p.Cycles)
	}
	for _, round := range []string{"round-02", "round-04"} {
		for _, kind := range []string{"mutex", "block", "goroutine"} {
			assert.FileExists(t, filepath.Join(e.folder, "profiles", round, kind+".pb.gz"))
			assert.FileExists(t, filepath.Join(e.folder, "profiles", round, "generator", kind+".pb.gz"))
		}
	}
	share := map[string]float64{}
	for _, l := range e.result.Locks {
		assert.NotEmpty(t, l.Name)
		assert.NotEqual(t, "shard.(*decider).wait", l.Name, "an idle shard is not a lock")
		assert.InDelta(t, l.WaitNs/float64(cycles["profile block of "+l.Node]), l.WaitNsPerCycle, 1e-6)
		share[l.Node] += l.Share
		assert.LessOrEqual(t, share[l.Node], 1.000001)
	}
}
