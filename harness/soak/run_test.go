package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestASteadySoakPasses(t *testing.T) {
	t.Parallel()
	b := newBench(t, filepath.Join(t.TempDir(), "new"), 120)
	soak, err := Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Equal(t, result.Pass, soak.Verdict, "%v", soak.Reasons)
	assert.Equal(t, 120, soak.Totals.Windows)
	assert.Equal(t, 120, soak.Totals.Judged)
	assert.InDelta(t, 1200, soak.MeasuredS, 1e-6)
	assert.Equal(t, soak.Totals.Cycles, soak.Totals.Ledger.Completed)
	assert.InDelta(t, 10_000, soak.Totals.Metrics[result.CyclesPerS], 50)
	assert.InDelta(t, 4, soak.Totals.Metrics[result.ServerCPUUsPerCycle], 0.05)
	require.Len(t, soak.Drifts, len(scenario.SoakFigures))
	for i, d := range soak.Drifts {
		assert.Equal(t, scenario.SoakFigures[i], d.Figure)
		assert.InDelta(t, 120, d.SpanS, 0, "a tenth")
		assert.NotZero(t, d.First)
		assert.InEpsilon(t, d.First, d.Last, 0.02)
	}
	assert.True(t, b.stand.closed)
	assert.False(t, b.stand.kept, "a finished soak removes the servers' data")
	assert.Equal(t, []string{"prony", "soak", b.Folder}, soak.Manifest.Command)
	require.NotEmpty(t, b.steps)
	assert.Zero(t, b.steps[len(b.steps)-1].Left)

	stored, err := result.ReadSoak(b.Folder)
	require.NoError(t, err)
	sameJSON(t, soak, stored)
	page, err := os.ReadFile(filepath.Join(b.Folder, PageFile))
	require.NoError(t, err)
	assert.Contains(t, string(page), "finished")

	_, err = Run(t.Context(), newBench(t, b.Folder, 120).Options)
	texts := golden.Cases(t, "testdata/finished.golden")
	texts.Replace(b.Folder, "FOLDER")
	texts.Error(t, "a finished soak", err)
}

func sameJSON(t *testing.T, want, got any) {
	t.Helper()
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(a, b))
}

// Each planted change of 5 % is reported for its figure, and no other is.
func TestPlantedChangesAreCalled(t *testing.T) {
	t.Parallel()
	const windows = 120
	for figure, plant := range map[string]func(w *Window, up, down float64){
		scenario.SoakRate: func(w *Window, _, down float64) {
			w.Round.Cycles = uint64(scaled(int64(w.Round.Cycles), down))
			w.Round.Ledger = result.Ledger{Enqueued: w.Round.Cycles, Completed: w.Round.Cycles}
		},
		scenario.SoakRSS:        func(w *Window, up, _ float64) { w.Processes[1].RSSBytes = scaled(w.Processes[1].RSSBytes, up) },
		scenario.SoakDisk:       func(w *Window, up, _ float64) { w.Processes[1].DataBytes = scaled(w.Processes[1].DataBytes, up) },
		scenario.SoakHarnessRSS: func(w *Window, up, _ float64) { w.Processes[0].RSSBytes = scaled(w.Processes[0].RSSBytes, up) },
		scenario.SoakFDs:        func(w *Window, up, _ float64) { w.Processes[1].FDs = int(scaled(500, up)) },
		scenario.SoakGoroutines: func(w *Window, up, _ float64) { w.Processes[1].Goroutines = int(scaled(500, up)) },
		scenario.SoakLatency: func(w *Window, up, _ float64) {
			h := result.NewHistograms()
			for _, kind := range h.Kinds() {
				for i := range int64(200) {
					require.NoError(t, kind.Histogram.RecordValue(scaled((100+i)*int64(time.Millisecond), up)))
				}
			}
			var err error
			w.Histograms, err = h.Encode()
			require.NoError(t, err)
		},
	} {
		t.Run(figure, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, t.TempDir(), windows).changing(func(number int, w *Window) {
				plant(w, rising(number, windows, 5), rising(number, windows, -5))
			})
			soak, err := Run(t.Context(), b.Options)
			require.NoError(t, err)
			assert.Equal(t, result.Regressed, soak.Verdict)
			for name, verdict := range verdicts(soak) {
				want := result.Pass
				if name == figure {
					want = result.Regressed
				}
				assert.Equal(t, want, verdict, name)
			}
			require.Len(t, soak.Reasons, 1)
			assert.True(t, strings.HasPrefix(soak.Reasons[0], figure), soak.Reasons[0])
		})
	}
}

// A window that cannot show drift does not contribute to it, but counts.
func TestWindowsThatAreNotJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 80)
	b.Scenario.Soak.FaultsEvery = 10
	var with []int
	b.changing(func(number int, w *Window) {
		if w.Faults {
			with = append(with, number)
		}
		switch {
		case w.Faults:
			w.Round.Cycles /= 2
		case number == 5:
			w.Round.Verdict = result.Invalid
			w.Round.Cycles *= 2
		case number == 6:
			w.Processes = w.Processes[:1] // a server that could not be read
		case number == 7:
			w.Cut, w.ServerEnds = true, 1
			w.Events = []string{"server ended by itself: signal: killed; it serves again after 1.2s"}
		}
	})
	soak, err := Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Equal(t, []int{10, 20, 30, 40, 50, 60, 70, 80}, with)
	totals := soak.Totals
	assert.Equal(t, 81, totals.Windows, "one additional window for the one that was cut")
	assert.Equal(t, 8, totals.WithFaults)
	assert.Equal(t, 2, totals.Invalid)
	assert.Equal(t, 1, totals.Cut)
	assert.Equal(t, 70, totals.Judged)
	assert.Equal(t, 70, soak.Drifts[0].Values)
	assert.InEpsilon(t, 10_000, totals.Metrics[result.CyclesPerS], 0.01)
	assert.Equal(t, result.Regressed, soak.Verdict)
	assert.Equal(t, []string{"a server exited unexpectedly 1 time and was restarted"}, soak.Reasons)
	require.Len(t, soak.Events, 1)
	assert.Equal(t, 7, soak.Events[0].Window)
	assert.Contains(t, strings.Join(b.said, "\n"), "window 7: server ended by itself")
}

func TestASoakWithFaultsInEveryWindowHasNoDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 3)
	b.Scenario.Soak.FaultsEvery = 1
	soak, err := Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Equal(t, result.Pass, soak.Verdict)
	assert.Empty(t, soak.Drifts)
	golden.Cases(t, "testdata/nodrift.golden").Equal(t, "warnings", strings.Join(soak.Warnings, "\n"))
}

// A single task at fault makes the soak incorrect, however many windows follow.
func TestATaskAtFaultMakesASoakIncorrect(t *testing.T) {
	t.Parallel()
	texts := golden.Cases(t, "testdata/incorrect.golden")
	b := newBench(t, t.TempDir(), 70).changing(func(number int, w *Window) {
		if number == 3 {
			w.Round.Verdict, w.Round.Reasons = result.Incorrect, []string{"1 task is lost"}
			w.Round.Ledger.Lost, w.Round.Ledger.Samples = 1, []string{"task 12 of producer 3: lost"}
		}
	})
	soak, err := Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Equal(t, result.Incorrect, soak.Verdict)
	texts.Equal(t, "reason", soak.Reasons[0])
	require.Len(t, soak.Events, 1)
	texts.Equal(t, "event", soak.Events[0].Text)
	assert.Equal(t, []string{"task 12 of producer 3: lost"}, soak.Totals.Ledger.Samples)
	outcome := result.NewSoakOutcome(soak, b.Folder)
	assert.NotContains(t, outcome.Metrics, result.CyclesPerS, "figures are not published if the account does not balance")
	assert.InDelta(t, 1, outcome.Metrics[result.Lost].Median, 0)
}

func TestAHostThatIsNotFitMakesASoakInvalid(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 130).changing(func(number int, w *Window) {
		if number%2 == 0 || number < 10 {
			w.Round.Verdict = result.Invalid
		}
	})
	soak, err := Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, soak.Verdict)
	golden.Cases(t, "testdata/unfit.golden").Equal(t, "reason", soak.Reasons[0])
}

func TestAShortSoakIsInconclusive(t *testing.T) {
	t.Parallel()
	soak, err := Run(t.Context(), newBench(t, t.TempDir(), 10).Options)
	require.NoError(t, err)
	assert.Equal(t, result.Inconclusive, soak.Verdict)
	golden.Cases(t, "testdata/short.golden").Equal(t, "reason", soak.Reasons[0])
	assert.InDelta(t, 600, soak.Drifts[0].NeedsS, 1e-6)
}

// An interrupt stops the servers and preserves their data, and the same call continues.
func TestAnInterruptedSoakGoesOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := newBench(t, folder, 100)
	soak, err := Run(b.stopAfter(t, 40), b.Options)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, soak)
	assert.True(t, soak.Finished.IsZero())
	assert.Equal(t, 40, soak.Totals.Windows)
	assert.True(t, b.stand.closed)
	assert.True(t, b.stand.kept, "the next process continues with the servers")
	assert.NoFileExists(t, filepath.Join(folder, result.SoakFile), "an unfinished soak has no result")

	b = newBench(t, folder, 100)
	deploy := b.Deploy
	b.Deploy = func(ctx context.Context, dir string) (Stand, error) {
		stand, err := deploy(ctx, dir)
		b.stand.manifest.Command = []string{"another"}
		return stand, err
	}
	soak, err = Run(t.Context(), b.Options)
	require.NoError(t, err)
	assert.Contains(t, b.said[0], "continues in the folder "+folder+" after 6m40s of 16m40s, 40 windows")
	assert.Equal(t, 100, soak.Totals.Windows)
	assert.Equal(t, 2, soak.Totals.Starts)
	assert.Equal(t, []string{"prony", "soak", folder}, soak.Manifest.Command, "the command of the first start")
	assert.InDelta(t, 1000, soak.MeasuredS, 1e-6, "only the missing time is measured")
	assert.False(t, soak.Finished.IsZero())
}

// An interrupt within a window leaves the window to the next process.
func TestAnInterruptedWindowIsRecovered(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBench(t, folder, 3)
	b.Deploy = func(_ context.Context, dir string) (Stand, error) {
		stand := newFakeStand(dir)
		stand.takes = time.Hour
		stand.begins = func() error {
			cancel()
			return nil
		}
		return stand, nil
	}
	_, err := Run(ctx, b.Options)
	require.ErrorIs(t, err, context.Canceled)
	soak, err := Run(t.Context(), newBench(t, folder, 3).Options)
	require.NoError(t, err)
	assert.Equal(t, 4, soak.Totals.Windows)
	assert.Equal(t, 1, soak.Totals.Cut)
	assert.EqualValues(t, 1, soak.Totals.Ledger.InDoubt)
	require.Len(t, soak.Events, 1)
	golden.Cases(t, "testdata/recovered.golden").Equal(t, "event", soak.Events[0].Text)
}

// Servers that never stay up end the soak with an error.
func TestServersThatDoNotStayUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 100).changing(func(_ int, w *Window) { w.Cut, w.Events = true, []string{"server ended by itself"} })
	_, err := Run(t.Context(), b.Options)
	golden.Cases(t, "testdata/notup.golden").Error(t, "cut windows", err)
	assert.True(t, b.stand.kept)
}
