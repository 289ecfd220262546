package run

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/reference"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestReferencesAreSummarisedOverTheirSamples(t *testing.T) {
	r, next := newReferences([]string{"cpu", "echo"}, reference.Config{}), 0.0
	r.measure = func(_ context.Context, name string) (result.ReferenceSample, error) {
		next++
		return result.ReferenceSample{PerS: next, CPUUs: 1}, nil
	}
	for range 3 {
		r.sample(t.Context())
	}
	all, err := r.summarise()
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []any{"cpu", 3.0, 3}, []any{all[0].Name, all[0].PerS.Median, all[0].PerS.N})
	assert.Equal(t, []any{"echo", 4.0, 3}, []any{all[1].Name, all[1].PerS.Median, all[1].PerS.N})
}

// A reference that cannot be measured causes an error and is not measured again.
func TestAReferenceThatFails(t *testing.T) {
	full := errors.New("the disk is full")
	r, calls := newReferences([]string{"fsync", "cpu"}, reference.Config{}), 0
	r.measure = func(context.Context, string) (result.ReferenceSample, error) {
		calls++
		return result.ReferenceSample{}, full
	}
	r.sample(t.Context())
	r.sample(t.Context())
	assert.Equal(t, 1, calls)
	_, err := r.summarise()
	assert.ErrorIs(t, err, full)
	never, err := newReferences([]string{"cpu"}, reference.Config{}).summarise()
	assert.Empty(t, never)
	golden.Cases(t, "testdata/references.golden").Error(t, "never", err)
}

// A run on the real server measures its references before the first round, between the rounds and
// after the last one.
func TestExecuteMeasuresReferences(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.References, s.Topology.TLS = 2, []string{scenario.ReferenceCPU, scenario.ReferenceEcho}, true
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	stored, _, err := result.Read(e.folder)
	require.NoError(t, err)
	require.Len(t, stored.References, len(s.References))
	require.Len(t, stored.Rounds, 2)
	first, second := stored.Rounds[0], stored.Rounds[1]
	windowOf := func(r result.Round) time.Duration { return time.Duration(r.WindowSeconds * float64(time.Second)) }
	for i, of := range stored.References {
		assert.Equal(t, s.References[i], of.Name)
		assert.Equal(t, 3, of.PerS.N)
		assert.Positive(t, of.PerS.Median)
		assert.Positive(t, of.CPUUs.Median)
		require.Len(t, of.Samples, 3)
		assert.True(t, of.Samples[0].At.Before(first.Started), of.Name)
		assert.True(t, of.Samples[1].At.After(first.Started.Add(windowOf(first))), of.Name)
		assert.True(t, of.Samples[1].At.Before(second.Started), of.Name)
		assert.True(t, of.Samples[2].At.After(second.Started.Add(windowOf(second))), of.Name)
	}
}

// A run whose references cannot be measured is invalid and reports the reason.
func TestExecuteWithoutItsReferences(t *testing.T) {
	t.Parallel()
	s := small()
	s.References = []string{scenario.ReferenceCPU, "sun"}
	e := execute(t, s, real(t))
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Equal(t, []string{`unknown reference "sun"`}, e.result.Reasons)
	assert.Empty(t, e.result.References)
}

// A run that is interrupted while its references are measured has no result and keeps the earlier
// rounds.
func TestAnInterruptedReferenceEndsTheRun(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.References = 2, []string{scenario.ReferenceCPU}
	started := time.Now()
	folder, err := result.Create(t.TempDir(), result.NewID(started, s.Name))
	require.NoError(t, err)
	r, err := newRunner(s, Options{Server: real(t).path, Progress: io.Discard}, folder, started, func(string) result.Host { return result.Host{} })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	r.references.measure = func(context.Context, string) (result.ReferenceSample, error) {
		if calls++; calls == 2 {
			cancel()
			return result.ReferenceSample{}, ctx.Err()
		}
		return result.ReferenceSample{PerS: 1, CPUUs: 1}, nil
	}
	err = r.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "interrupted after round 1 of 2")
	stored, histograms, err := result.ReadStored(folder.Path())
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, stored.Verdict)
	assert.Equal(t, "the run did not finish: it stored 1 of 2 rounds", stored.Reasons[0])
	require.Len(t, stored.Rounds, 1)
	assert.Equal(t, r.result.Rounds[0].Cycles, stored.Rounds[0].Cycles)
	assert.Len(t, histograms, 1)
	assert.Positive(t, stored.Metrics[result.CyclesPerS].Median)
}
