package duet

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

func TestHeapTotalsAreThoseOfTheRuntime(t *testing.T) {
	var before, after runtime.MemStats
	var text strings.Builder
	runtime.ReadMemStats(&before)
	require.NoError(t, pprof.Lookup("heap").WriteTo(&text, 1))
	runtime.ReadMemStats(&after)
	allocs, size, err := heapTotals([]byte(text.String()))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, allocs, float64(before.Mallocs))
	assert.LessOrEqual(t, allocs, float64(after.Mallocs))
	assert.GreaterOrEqual(t, size, float64(before.TotalAlloc))
	assert.LessOrEqual(t, size, float64(after.TotalAlloc))
	_, _, err = heapTotals([]byte("# Mallocs = 12\n"))
	golden.Cases(t, "testdata/heaptotals.golden").Error(t, "one total", err)
}

// Allocations of a reading do not count, and neither do those of an idle server or counts from
// before the work.
func TestCountsAreThoseOfTheWork(t *testing.T) {
	server := func(second, allocs, sets, fsyncs, log float64) workReading {
		return workReading{at: time.Unix(int64(second), 0), servers: []serverReading{{
			metrics: map[string]float64{
				"prony_storage_sets_total": sets, "prony_storage_fsyncs_total": fsyncs, "prony_storage_log_fsyncs_total": log, "prony_calls_total": sets,
			},
			allocs: allocs, bytes: 10 * allocs, switches: allocs,
		}}}
	}
	w := &workRun{cluster: &topology.Cluster{}, leaders: []string{""}}
	counters, shown, warnings := w.counts(workReadings{
		first:  server(10, 100, 1, 7, 3),
		idle:   server(10, 130, 1, 7, 3),      // a reading: 30
		before: server(11, 210, 1, 7, 3),      // a reading, and 50 in an idle second
		after:  server(13, 1_340, 51, 30, 25), // a reading, 100 in two seconds, and the work
	})
	assert.Empty(t, warnings)
	assert.Equal(t, map[string]float64{
		result.WorkStorageSets: 50, result.WorkCalls: 50, result.WorkCommitFsyncs: 22,
		result.WorkAllocs: 1_000, result.WorkAllocBytes: 10_000,
	}, counters)
	assert.InDelta(t, 1_130, shown["context switches"], 0)
	assert.InDelta(t, 1, shown["background fsyncs"], 0)
}

// Heartbeats make the allocations of a cluster depend on time, so they are shown but not judged.
func TestAllocationsOfAClusterAreShownOnly(t *testing.T) {
	nodes := func(second, allocs float64) workReading {
		return workReading{at: time.Unix(int64(second), 0), servers: []serverReading{{allocs: allocs}, {allocs: allocs}}}
	}
	w := &workRun{cluster: &topology.Cluster{}, leaders: []string{"n1", "n2"}}
	counters, shown, warnings := w.counts(workReadings{nodes(0, 0), nodes(0, 1), nodes(1, 2), nodes(2, 53)})
	assert.NotContains(t, counters, result.WorkAllocs)
	assert.NotContains(t, counters, result.WorkAllocBytes)
	assert.InDelta(t, 100, shown["allocations"], 0)
	assert.Len(t, warnings, 1)
}

func TestWhatOneSideDoesNotCountIsLeftOut(t *testing.T) {
	w := joinWork([2]workCounts{
		{cycles: 9, counters: map[string]float64{result.WorkStorageSets: 1}, shown: map[string]float64{"context switches": 4}},
		{cycles: 9, counters: map[string]float64{result.WorkStorageSets: 2, result.WorkCommits: 3}, shown: map[string]float64{"context switches": 5}},
	})
	assert.Equal(t, map[string][2]float64{result.WorkStorageSets: {1, 2}}, w.Counters)
	assert.Equal(t, map[string][2]float64{"context switches": {4, 5}}, w.Shown)
	assert.Equal(t, []string{"fixed work: the base does not count commits"}, w.Warnings)
	assert.EqualValues(t, 9, w.Cycles)
	assert.Equal(t, []string{result.WorkStorageSets}, differing(w))

	w = joinWork([2]workCounts{{cycles: 9}, {cycles: 10}})
	assert.Zero(t, w.Cycles)
	golden.Cases(t, "testdata/joined.golden").Equal(t, "other cycles", w.Warnings[0])
}

// A counter has the two values, one per side, that differ least, even if they are of different
// measurements.
func TestTheSmallestDifferenceCounts(t *testing.T) {
	assert.Equal(t, [2]float64{13, 12}, nearest([2][]float64{{10, 13, 20}, {12, 16}}))
	assert.Equal(t, [2]float64{7, 7}, nearest([2][]float64{{10, 7}, {7, 12}}))
}

// The fixed work is measured until no counter differs. A failed measurement is reported even if a
// later one succeeds.
func TestFixedWorkIsMeasuredAgain(t *testing.T) {
	other := &result.FixedWork{Counters: map[string][2]float64{result.WorkStorageSets: {9, 9}}}
	for name, test := range map[string]struct {
		tries   []any // values of base and change, other work, or nil for a failure
		want    [2]float64
		warning string
	}{
		"equal at first":            {[]any{[2]float64{10, 10}}, [2]float64{10, 10}, ""},
		"equal the next time":       {[]any{[2]float64{10, 13}, [2]float64{10, 10}}, [2]float64{10, 10}, ""},
		"equal across measurements": {[]any{[2]float64{10, 13}, [2]float64{13, 16}}, [2]float64{13, 13}, ""},
		"never equal":               {[]any{[2]float64{10, 14}, [2]float64{11, 13}, [2]float64{10, 13}, [2]float64{10, 14}}, [2]float64{11, 13}, ""},
		"different work":            {[]any{other, [2]float64{10, 13}, other, [2]float64{10, 10}}, [2]float64{10, 10}, ""},
		"failed then equal":         {[]any{nil, [2]float64{10, 10}}, [2]float64{10, 10}, ""},
		"failed": {
			[]any{[2]float64{10, 12}, nil, nil, nil},
			[2]float64{10, 12},
			"the fixed work was measured fewer times than requested, because a measurement failed: the connection broke",
		},
		"all failed": {[]any{nil, nil, nil, nil}, [2]float64{}, "the fixed work failed: the connection broke"},
	} {
		tries := 0
		w := closest(func(try int) (*result.FixedWork, error) {
			tries++
			assert.Equal(t, tries, try, name)
			switch of := test.tries[try-1].(type) {
			case [2]float64:
				return &result.FixedWork{Cycles: 9, Counters: map[string][2]float64{result.WorkStorageSets: of}}, nil
			case *result.FixedWork:
				return of, nil
			}
			return nil, errBroken
		})
		assert.Len(t, test.tries, tries, name)
		assert.Equal(t, test.want, w.Counters[result.WorkStorageSets], name)
		if test.warning == "" {
			assert.Empty(t, w.Warnings, name)
		} else {
			assert.Equal(t, []string{test.warning}, w.Warnings, name)
		}
	}
}

// Interrupted fixed work prints no line about its counters.
func TestInterruptedFixedWorkSaysNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	c := &conductor{scenario: &scenario.Scenario{}, options: Options{Progress: &said}}
	w := c.fixedWork(ctx)
	assert.Zero(t, w.Cycles)
	assert.Empty(t, said.String())
}

func TestFixedWorkHasSettingsOfItsOwn(t *testing.T) {
	got := workTopology(scenario.Topology{Kind: "sharded", Shards: 4, Durability: "interval", SyncInterval: 5, BusyPoll: true, Procs: 2})
	assert.Equal(t, scenario.Topology{Kind: "sharded", Shards: 4, Durability: "sync", Procs: 1}, got)
}

func TestWorkWithoutGenerations(t *testing.T) {
	c := newFakeHost().conductor(t, Options{WorkOnly: true})
	c.work = func(context.Context) *result.FixedWork { return &result.FixedWork{Cycles: 7} }
	measured(t, c)
	assert.Empty(t, c.duet.Generations)
	assert.EqualValues(t, 7, c.duet.Work.Cycles)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, newFakeHost().conductor(t, Options{WorkOnly: true}).measure(ctx), context.Canceled)
}
