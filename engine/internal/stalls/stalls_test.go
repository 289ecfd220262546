package stalls

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/stages"
)

const ms = time.Millisecond

// quiet returns a Log without data from the runtime.
func quiet() *Log {
	l := New()
	l.read, l.collected = func(*reading) {}, func(_, _ time.Duration) int { return 0 }
	return l
}

func (l *Log) span(kind Kind, began, ended time.Duration) {
	l.spans.add(Span{Store: "s", Kind: kind, Began: began, Ended: ended})
}

func (l *Log) only(t *testing.T) Commit {
	t.Helper()
	r := l.Record()
	require.Len(t, r.Commits, 1)
	return r.Commits[0]
}

func TestOnlySlowCommitsAreRecorded(t *testing.T) {
	l := quiet()
	l.readAgain.Store(int64(time.Hour))
	assert.False(t, l.Wants(10*ms, 15*ms))
	assert.True(t, l.Wants(10*ms, 15*ms+1))
	assert.False(t, (*Log)(nil).Wants(0, time.Hour))
	l.Add(Commit{Began: 10 * ms, Ended: 15 * ms})
	assert.Empty(t, l.Record().Commits)
	l.Add(Commit{Shard: 3, Commands: 2, Began: 10 * ms, Ended: 16 * ms})
	c := l.only(t)
	assert.Equal(t, []int{3, 2}, []int{c.Shard, c.Commands})
	assert.Equal(t, Other, c.Cause)
	n, took := l.Totals(Other)
	assert.Equal(t, uint64(1), n)
	assert.Equal(t, 6*ms, took)
}

// The parts of a commit add up to its time, and the largest is its cause.
func TestATimeIsDividedAmongItsCauses(t *testing.T) {
	for cause, parts := range map[Cause]Parts{
		Semaphore: {Semaphore: 12 * ms, Rotation: ms},
		MemTables: {MemTables: 12 * ms, Rotation: ms},
		Level0:    {Level0: 12 * ms, Behind: 5 * ms},
		Rotation:  {Rotation: 12 * ms, Sync: 8 * ms},
		Behind:    {Behind: 100 * ms},
		RaftRoom:  {RaftRoom: 12 * ms, Replicate: 8 * ms},
		Replicate: {Replicate: 19 * ms, RaftRoom: ms},
		Other:     {Sync: 20 * ms}, // without an fsync
	} {
		l := quiet()
		l.Add(Commit{Began: 0, Ended: 20 * ms, Parts: parts})
		c := l.only(t)
		assert.Equal(t, cause, c.Cause, "%+v", parts)
		var sum time.Duration
		for of, part := range c.ByCause {
			sum += part
			_, total := l.Totals(Cause(of))
			assert.Equal(t, part, total)
		}
		assert.Equal(t, 20*ms, sum, cause.String())
	}
}

func TestTheWaitForTheLogIsAnFsyncWhileOneRan(t *testing.T) {
	l := quiet()
	l.span(FsyncWork, 2*ms, 14*ms)
	l.Add(Commit{Began: 0, Ended: 20 * ms, Parts: Parts{Sync: 18 * ms}})
	c := l.only(t)
	assert.Equal(t, Fsync, c.Cause)
	assert.Equal(t, 12*ms, c.ByCause[Fsync])
	assert.Equal(t, 8*ms, c.ByCause[Other])
}

func TestWorkOfTheStoresExplainsTheRest(t *testing.T) {
	for cause, kind := range map[Cause]Kind{Flush: FlushWork, Compaction: CompactionWork} {
		l := quiet()
		l.span(kind, 0, 4*ms) // ended before the commit
		l.span(kind, 5*ms, 12*ms)
		l.Store("s").Begin(kind, 1)
		l.running[0].Began = 26 * ms
		l.Add(Commit{Began: 10 * ms, Ended: 30 * ms, Parts: Parts{Rotation: 9 * ms}})
		c := l.only(t)
		assert.Equal(t, cause, c.Cause)
		assert.Equal(t, 11*ms, c.ByCause[cause])
		assert.Equal(t, 6*ms, c.Ran.Flush+c.Ran.Compaction)
	}
}

func TestWorkIsRecordedWithItsTimes(t *testing.T) {
	l := New()
	s := l.Store("shard")
	before := stages.Now()
	s.Begin(FlushWork, 7)
	s.Begin(CompactionWork, 8)
	s.End(FlushWork, 7)
	s.End(FlushWork, 9) // never began
	s.Took(FsyncWork, 2*ms)
	r := l.Record()
	require.Len(t, r.Spans, 3)
	assert.Equal(t, []Kind{FlushWork, FsyncWork, CompactionWork}, []Kind{r.Spans[0].Kind, r.Spans[1].Kind, r.Spans[2].Kind})
	assert.GreaterOrEqual(t, r.Spans[0].Began, before)
	assert.GreaterOrEqual(t, r.Spans[0].Ended, r.Spans[0].Began)
	assert.Equal(t, 2*ms, r.Spans[1].Ended-r.Spans[1].Began)
	assert.Zero(t, r.Spans[2].Ended, "the work runs")
	Store{}.Begin(FlushWork, 1) // a zero Store has no Log
	Store{}.End(FlushWork, 1)
	Store{}.Took(FsyncWork, ms)
}

func TestTheRecordIsBounded(t *testing.T) {
	l := quiet()
	for i := range commitsMax + 5 {
		l.Add(Commit{Commands: i, Ended: 6 * ms})
	}
	for range spansMax + 5 {
		l.Store("s").Took(FsyncWork, ms)
	}
	for i := range runningMax + 5 {
		l.Store("s").Begin(FlushWork, i)
	}
	r := l.Record()
	assert.Len(t, r.Commits, commitsMax)
	assert.Equal(t, []int{5, commitsMax + 4}, []int{r.Commits[0].Commands, r.Commits[commitsMax-1].Commands})
	assert.Equal(t, uint64(commitsMax+5), r.CommitsTotal)
	assert.Len(t, r.Spans, spansMax+runningMax)
	assert.Equal(t, uint64(spansMax+5+runningMax), r.SpansTotal)
}

func TestACollectionDuringACommitIsSeen(t *testing.T) {
	l := New()
	began := stages.Now()
	runtime.GC()
	ended := stages.Now()
	l.Add(Commit{Began: began - Slow, Ended: ended})
	c := l.only(t)
	assert.Positive(t, c.Ran.Collections)
	assert.Equal(t, Collection, c.Cause)
	assert.Zero(t, collections(ended, ended))
}

// The longest wait for a processor is computed from the readings before and after a commit.
func TestALongWaitForAProcessorIsSeen(t *testing.T) {
	l := quiet()
	counts := []uint64{9, 5, 1}
	l.read = func(r *reading) {
		r.counts, r.bounds = append([]uint64(nil), counts...), []float64{0, 1e-3, 15e-3, 1}
	}
	l.Add(Commit{Began: 0, Ended: ms}) // reads the runtime
	counts[1]++
	require.True(t, l.Wants(110*ms, 111*ms), "a reading of the runtime is due")
	l.Add(Commit{Began: 110 * ms, Ended: 111 * ms})
	require.False(t, l.Wants(112*ms, 113*ms))
	counts[2]++
	l.Add(Commit{Began: 115 * ms, Ended: 135 * ms})
	c := l.only(t)
	assert.Equal(t, Scheduler, c.Cause)
	assert.Equal(t, 15*ms, c.Ran.Waited)
	assert.Equal(t, 24*ms, c.Ran.Over, "the time since the reading before the commit")

	l.Add(Commit{Began: time.Hour, Ended: time.Hour + 6*ms})
	late := l.Record().Commits[1]
	assert.Zero(t, late.Ran.Waited, "the last reading is too old")
	assert.Zero(t, late.Ran.Over)
}

func TestTheRuntimeSaysHowLongGoroutinesWaited(t *testing.T) {
	var r reading
	readRuntime(&r)
	require.NotEmpty(t, r.counts)
	assert.Len(t, r.bounds, len(r.counts)+1)
}

func TestEachCauseHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Causes() {
		assert.NotEmpty(t, c.String())
		seen[c.String()] = true
	}
	assert.Len(t, seen, int(causes))
}
