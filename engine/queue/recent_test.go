package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecentFailuresAreRemembered(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 2, Backoff: Backoff{InitialMs: 1, MaxMs: 1, JitterPercent: 1}})
	f.fill("q", 1)
	f.settle("q", Fail)
	f.pass(10)
	f.settle("q", Fail)
	f.fill("other", 1)
	f.settle("other", Fail)
	got := f.RecentFailures("t", "")
	require.Len(t, got, 3)
	assert.Equal(t, []string{"other", "q", "q"}, []string{got[0].Queue, got[1].Queue, got[2].Queue})
	assert.Equal(t, []Reason{0, AttemptsUsedUp, 0}, []Reason{got[0].Died, got[1].Died, got[2].Died})
	assert.Equal(t, []uint32{1, 2, 1}, []uint32{got[0].Number, got[1].Number, got[2].Number})
	assert.Equal(t, Failed, got[1].Outcome)
	assert.Len(t, f.RecentFailures("", "q"), 2)
	assert.Empty(t, f.RecentFailures("u", ""))
}

func TestRecentFailuresAreLimited(t *testing.T) {
	var r recent
	long := strings.Repeat("ä", recentErrorMax)
	for i := range uint64(3*RecentMax + 5) {
		r.add(Failure{Ref: Ref{Seq: i}, Attempt: Attempt{Error: long}})
		require.Equal(t, RecentMax, cap(r.all), "allocated once, so that the allocations do not depend on the number of failures")
	}
	assert.Len(t, r.all, RecentMax)
	s := &State{}
	s.recent = r
	got := s.RecentFailures("", "")
	for i := range got {
		require.Equal(t, uint64(3*RecentMax+4-i), got[i].Ref.Seq, fmt.Sprint(i))
	}
	assert.Equal(t, long[:recentErrorMax], got[0].Error)

	r.died(Failure{Ref: got[0].Ref, Died: FailedPermanently})
	r.died(Failure{Ref: Ref{Seq: 1_000}, Died: TimeToLiveOver})
	s.recent = r
	got = s.RecentFailures("", "")
	assert.Equal(t, []Reason{TimeToLiveOver, FailedPermanently}, []Reason{got[0].Died, got[1].Died})
	assert.Len(t, got, RecentMax)
}
