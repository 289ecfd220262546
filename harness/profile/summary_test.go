package profile

import (
	"fmt"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestSummaryChargesTheCallerOfWaits(t *testing.T) {
	p := build(
		delayTypes(),
		stack{[]string{"sync.(*Mutex).Unlock", "a/b.(*Store).Put", "main.main"}, []int64{1, 60}},
		stack{[]string{"internal/sync.(*Mutex).Unlock", "sync.(*RWMutex).Unlock", "a/b.(*Store).Put", "a/b.(*Store).Put", "main.main"}, []int64{1, 20}},
		stack{[]string{"runtime.unlock", "runtime.mallocgc"}, []int64{1, 20}},
	)
	summary, err := summarise(p, kindOf(t, "mutex"))
	require.NoError(t, err)
	assert.InDelta(t, 100, summary.Total, 0)
	assert.Equal(t, []result.ProfileEntry{
		{Function: "a/b.(*Store).Put", Flat: 80, Cum: 80, Share: 0.8},
		{Function: "runtime.unlock", Flat: 20, Cum: 20, Share: 0.2},
		{Function: "main.main", Cum: 80},
		{Function: "sync.(*Mutex).Unlock", Cum: 60},
		{Function: "internal/sync.(*Mutex).Unlock", Cum: 20},
		{Function: "runtime.mallocgc", Cum: 20},
		{Function: "sync.(*RWMutex).Unlock", Cum: 20},
	}, summary.Top)
}

func TestSummaryOfCPUChargesTheLeaf(t *testing.T) {
	types := []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	summary, err := summarise(build(types, stack{[]string{"runtime.mapaccess1", "main.main"}, []int64{1, 10}}), kindOf(t, "cpu"))
	require.NoError(t, err)
	assert.Equal(t, "runtime.mapaccess1", summary.Top[0].Function)
	assert.InDelta(t, 1, summary.Top[0].Share, 0)
}

func TestSummaryCountsInlinedFrames(t *testing.T) {
	p := build(delayTypes(), stack{[]string{"runtime.chanrecv1", "main.outer"}, []int64{1, 10}})
	inlined := &profile.Function{ID: 9, Name: "main.inlined"}
	p.Function = append(p.Function, inlined)
	p.Location[1].Line = append([]profile.Line{{Function: inlined}}, p.Location[1].Line...)
	summary, err := summarise(p, kindOf(t, "block"))
	require.NoError(t, err)
	assert.Equal(t, result.ProfileEntry{Function: "main.inlined", Flat: 10, Cum: 10, Share: 1}, summary.Top[0])
}

func TestSummaryNamesTheFifteenLargest(t *testing.T) {
	var stacks []stack
	for i := range 40 {
		stacks = append(stacks, stack{[]string{fmt.Sprintf("main.f%02d", i)}, []int64{1, int64(i + 1)}})
	}
	summary, err := summarise(build(delayTypes(), stacks...), kindOf(t, "mutex"))
	require.NoError(t, err)
	require.Len(t, summary.Top, 15)
	assert.Equal(t, "main.f39", summary.Top[0].Function)
	assert.Equal(t, "main.f25", summary.Top[14].Function)
	assert.InDelta(t, 40*41/2, summary.Total, 0, "the total counts all of them")
}

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"runtime.selectgo":                               "runtime",
		"sync.(*Mutex).Unlock":                           "sync",
		"sync/atomic.(*Value).Load":                      "sync/atomic",
		"internal/poll.(*FD).Read":                       "internal/poll",
		"golang.org/x/sync/errgroup.(*Group).Wait":       "golang.org/x/sync/errgroup",
		"example.com/a/internal/b.F":                     "example.com/a/internal/b",
		"example.com/a.Map[go.shape.string,x.com/y/z.T]": "example.com/a",
		"main.main.func1":                                "main",
		"bare":                                           "bare",
	} {
		assert.Equal(t, want, packageOf(function), function)
	}
	for path, want := range map[string]bool{
		"runtime": true, "runtime/pprof": false, "internal/poll": true, "sync": true, "sync/atomic": true,
		"golang.org/x/sync/errgroup": false, "example.com/a/internal/b": false, "synctest": false,
	} {
		assert.Equal(t, want, waits(path), path)
	}
}
