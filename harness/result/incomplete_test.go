package result_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// incomplete stores the first n rounds of a sample, like a run that ends after them.
func incomplete(t *testing.T, out string, n int, change func(*result.Result)) (*result.Result, *result.Folder) {
	t.Helper()
	r, hists := sampleResult(t)
	r.Manifest.Scenario.Name, r.Manifest.Scenario.Title = r.Scenario, r.Title
	if change != nil {
		change(r)
	}
	f, err := result.Create(out, r.Run)
	require.NoError(t, err)
	require.NoError(t, f.WriteManifest(r.Manifest))
	// Histograms of the next round may be stored before the round.
	require.NoError(t, f.WriteHistograms(hists[:min(n+1, len(hists))]))
	doc := result.RoundsDocument{Rounds: r.Rounds[:n], Planned: 7}
	for _, p := range r.Points {
		p.Metrics = map[string]result.Metric{}
		doc.Points = append(doc.Points, p)
	}
	require.NoError(t, f.WriteRounds(doc))
	return r, f
}

func TestReadStoredReadsWhatARunLeft(t *testing.T) {
	r, f := incomplete(t, t.TempDir(), 3, nil)
	assert.True(t, result.Incomplete(f.Path()))
	_, _, err := result.Read(f.Path())
	require.ErrorIs(t, err, os.ErrNotExist, "published results and bases of limits must be complete")

	stored, hists, err := result.ReadStored(f.Path())
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, stored.Verdict)
	assert.Equal(t, []string{"the run did not finish: it stored 3 of 7 rounds"}, stored.Reasons)
	assert.Equal(t, r.Rounds[:3], stored.Rounds)
	assert.Equal(t, []string{r.Run, r.Scenario, r.Title}, []string{stored.Run, stored.Scenario, stored.Title})
	assert.True(t, stored.Started.Equal(r.Started.Truncate(time.Millisecond)), "%v", stored.Started)
	assert.Equal(t, r.Manifest.Build, stored.Manifest.Build)
	require.Len(t, hists, 3)
	assert.Equal(t, 3, stored.Metrics[result.CyclesPerS].N)
	assert.Positive(t, stored.Metrics[result.CycleLatencyMs+"_p99"].Median)

	require.NoError(t, os.Remove(f.File(result.HistogramsFile)))
	stored, hists, err = result.ReadStored(f.Path())
	require.NoError(t, err)
	assert.Empty(t, hists)
	assert.Equal(t, 3, stored.Metrics[result.CyclesPerS].N)
	assert.NotContains(t, stored.Metrics, result.CycleLatencyMs+"_p99", "no percentile without histograms")

	require.NoError(t, os.WriteFile(f.File(result.RoundsFile), []byte("{"), 0o600))
	_, _, err = result.ReadStored(f.Path())
	s := golden.Cases(t, "testdata/whatarunleft.golden")
	s.Replace(f.Path(), "RUN")
	s.Error(t, "corrupt rounds", err)
}

// A run that ended in its first round has no rounds. A lost task makes an incomplete run incorrect.
func TestTheVerdictOfAnIncompleteRun(t *testing.T) {
	_, f := incomplete(t, t.TempDir(), 0, nil)
	stored, _, err := result.ReadStored(f.Path())
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, stored.Verdict)
	assert.Equal(t, []string{"the run did not finish: it stored 0 of 7 rounds"}, stored.Reasons)
	assert.Empty(t, stored.Metrics)

	_, f = incomplete(t, t.TempDir(), 2, func(r *result.Result) {
		r.Rounds[1].Verdict, r.Rounds[1].Reasons, r.Rounds[1].Ledger.Lost = result.Incorrect, []string{"1 task is lost"}, 1
	})
	stored, _, err = result.ReadStored(f.Path())
	require.NoError(t, err)
	assert.Equal(t, result.Incorrect, stored.Verdict)
	assert.Contains(t, stored.Reasons, "round 2: 1 task is lost")
}

func TestAnIncompleteSweepHasThePointsThatWereMeasured(t *testing.T) {
	_, f := incomplete(t, t.TempDir(), 2, func(r *result.Result) {
		r.Points = []result.Point{{Number: 1, Name: "shards=1"}, {Number: 2, Name: "shards=2"}}
		r.Rounds[0].Point, r.Rounds[1].Point = 1, 1
	})
	stored, _, err := result.ReadStored(f.Path())
	require.NoError(t, err)
	require.Len(t, stored.Points, 1)
	assert.Equal(t, "shards=1", stored.Points[0].Name)
	assert.Equal(t, 2, stored.Points[0].Metrics[result.CyclesPerS].N)
	assert.NotContains(t, stored.Metrics, result.CyclesPerS)
}

func TestNewestIncomplete(t *testing.T) {
	out := t.TempDir()
	newest, err := result.NewestIncomplete(filepath.Join(out, "none"))
	require.NoError(t, err)
	assert.Empty(t, newest)

	_, f := incomplete(t, out, 1, nil)
	later, release, err := result.Begin(out, "9-later", nil)
	require.NoError(t, err)
	require.NoError(t, later.WriteManifest(result.Manifest{}))
	require.NoError(t, later.WriteRounds(result.RoundsDocument{}))
	newest, err = result.NewestIncomplete(out)
	require.NoError(t, err)
	assert.Equal(t, f.Path(), newest, "the other one is still being measured")
	require.NoError(t, release())
	newest, err = result.NewestIncomplete(out)
	require.NoError(t, err)
	assert.Equal(t, later.Path(), newest)
}
