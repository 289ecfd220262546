package load

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

func TestHistogramIsSmallAndExactToOnePercent(t *testing.T) {
	assert.LessOrEqual(t, result.NewHistogram().ByteSize(), 23_000)
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, int64(result.LatencyHighest)).Draw(t, "ns")
		l := newLatencies()
		l.record(ns, 1)
		assert.InDelta(t, ns, l.histogram.Max(), max(512, float64(ns)*0.01))
		assert.Zero(t, l.clamped)
	})
}

func TestLatencyOutOfRangeIsCounted(t *testing.T) {
	l := newLatencies()
	l.record(int64(result.LatencyHighest), 1)
	assert.Zero(t, l.clamped)
	l.record(int64(result.LatencyHighest)+1, 3)
	l.record(int64(100*time.Hour), 1)
	l.record(-1, 2)
	all := result.NewHistogram()
	assert.EqualValues(t, 6, l.mergeInto(all))
	assert.EqualValues(t, 5, all.TotalCount())
}

func TestRefusalsKeepTheFirstReason(t *testing.T) {
	var none, a, b Refusals
	a.note(2, errors.New("first"))
	a.note(1, errors.New("second"))
	b.note(1, errors.New("third"))
	none.Add(a)
	none.Add(b)
	assert.Equal(t, Refusals{Count: 4, First: "first"}, none)
}

func TestWindowIsHalfOpen(t *testing.T) {
	s := span{start: 10, end: 20}
	assert.False(t, s.contains(9))
	assert.True(t, s.contains(10))
	assert.True(t, s.contains(19))
	assert.False(t, s.contains(20))
}
