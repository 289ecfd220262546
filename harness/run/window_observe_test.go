package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Timed rounds are observed as the scenario specifies, and the result records it. Profiles of a
// timed round do not count as profiles of the run, and profiled rounds are not observed.
func TestTimedRoundsAreObserved(t *testing.T) {
	t.Parallel()
	s := small()
	forTime(s, 1100*time.Millisecond)
	s.Observe = &scenario.Observe{Scrape: 20 * time.Millisecond, Profiles: true}
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	var timedRounds int
	for _, r := range e.result.Rounds {
		if r.Profiled {
			assert.Nil(t, r.Observed)
			continue
		}
		timedRounds++
		require.NotNil(t, r.Observed)
		assert.Positive(t, r.Observed.Scrapes)
		assert.InDelta(t, 0.02, r.Observed.ScrapeS, 1e-9)
		assert.Equal(t, []string{"cpu", "mutex", "block"}, r.Observed.Profiles)
		assert.True(t, r.TimedProfiled())
		assert.NoDirExists(t, e.folder+"/profiles/round-01")
	}
	assert.Equal(t, 1, timedRounds)
	var kinds []string
	for _, p := range e.result.Profiles {
		kinds = append(kinds, p.Kind+" of "+p.Node)
	}
	assert.Equal(t, []string{"mutex of ", "mutex of generator"}, kinds)
}

// A round with an empty observe block records that it had no observation. Without the block it
// records nothing.
func TestARoundThatNothingObserves(t *testing.T) {
	t.Parallel()
	s := small()
	s.Observe = &scenario.Observe{}
	e := execute(t, s, acting(t, faultNone))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Equal(t, &result.Observed{}, e.result.Rounds[0].Observed)
	e = execute(t, small(), acting(t, faultNone))
	assert.Nil(t, e.result.Rounds[0].Observed)
}
