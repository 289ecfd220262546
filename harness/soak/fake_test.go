package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// fakeWindow is the state of a fakeStand on disk: the window in progress.
const fakeWindow = "under-way.json"

// fakeStand simulates windows. It stores the number of the window in progress on disk, as servers
// store tasks, so that a killed harness leaves one behind.
type fakeStand struct {
	dir string
	// change modifies a window before it is returned; nil makes no change.
	change func(number int, w *Window)
	// takes is the real duration of a window.
	takes time.Duration
	// begins is called when a window has begun; nil does nothing.
	begins func() error
	random *rand.Rand

	manifest result.Manifest
	closed   bool
	kept     bool
}

func (s *fakeStand) Manifest() result.Manifest { return s.manifest }

func newFakeStand(dir string) *fakeStand {
	return &fakeStand{dir: dir, random: rand.New(rand.NewPCG(1, 2))}
}

func (s *fakeStand) file() string { return filepath.Join(s.dir, fakeWindow) }

func (s *fakeStand) Measure(ctx context.Context, number int, faults bool) (Window, error) {
	if s.closed {
		return Window{}, errors.New("the servers are stopped")
	}
	if err := result.WriteFile(s.file(), []byte(fmt.Sprint(number))); err != nil {
		return Window{}, err
	}
	if s.begins != nil {
		if err := s.begins(); err != nil {
			return Window{}, err
		}
	}
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return Window{}, ctx.Err()
	}
	w := madeWindow(number, s.random)
	w.Faults = faults
	if s.change != nil {
		s.change(number, &w)
	}
	return w, os.Remove(s.file())
}

func (s *fakeStand) Recover(context.Context) (Window, bool, error) {
	data, err := os.ReadFile(s.file())
	if errors.Is(err, os.ErrNotExist) {
		return Window{}, false, nil
	}
	if err != nil {
		return Window{}, false, err
	}
	w := Window{Cut: true, Round: result.Round{Ledger: result.Ledger{Enqueued: 7, Completed: 6, InDoubt: 1}, Verdict: result.Pass}}
	return w, true, errors.Join(json.Unmarshal(data, &w.Number), os.Remove(s.file()))
}

func (s *fakeStand) Close(_ context.Context, keep bool) error {
	s.closed, s.kept = true, keep
	return nil
}

// madeWindow simulates a window of ten seconds on a host with a little noise.
func madeWindow(number int, random *rand.Rand) Window {
	noisy := func(v float64) float64 { return v * (1 + 0.005*random.NormFloat64()) }
	cycles := uint64(noisy(100_000))
	h := result.NewHistograms()
	for _, kind := range h.Kinds() {
		for i := range 200 {
			_ = kind.Histogram.RecordValue(int64(noisy(float64(time.Millisecond) * (1 + float64(i)/20))))
		}
	}
	encoded, err := h.Encode()
	if err != nil {
		panic(err)
	}
	return Window{
		Number: number, Histograms: encoded,
		Round: result.Round{
			Number: number, Verdict: result.Pass, Started: time.Unix(1_800_000_000+int64(number)*10, 0).UTC(), WindowSeconds: 10, Cycles: cycles,
			Metrics: map[string]float64{result.ServerCPUUsPerCycle: noisy(4), result.ClientCPUUsPerCycle: noisy(3)},
			Ledger:  result.Ledger{Enqueued: cycles, Completed: cycles},
		},
		Processes: []Process{
			{Name: HarnessName, RSSBytes: int64(noisy(80e6)), FDs: 30, Goroutines: 40},
			{Name: "server", RSSBytes: int64(noisy(60e6)), FDs: 50, Goroutines: 120, DataBytes: int64(noisy(25e6))},
		},
	}
}

// soakScenario is testdata/soak.hcl.
func soakScenario(t testing.TB) *scenario.Scenario {
	t.Helper()
	all, err := scenario.Load("testdata/soak.hcl")
	require.NoError(t, err)
	return all[0]
}

// bench holds the options of a soak with a fake stand, and the reported events.
type bench struct {
	Options

	stand *fakeStand
	said  []string
	steps []Status
}

// newBench prepares a soak with the given number of windows in the folder.
func newBench(t testing.TB, folder string, windows int) *bench {
	b := &bench{}
	b.Options = Options{
		Folder: folder, Scenario: soakScenario(t), For: time.Duration(windows) * 10 * time.Second,
		Deploy: func(_ context.Context, dir string) (Stand, error) {
			b.stand = newFakeStand(dir)
			b.stand.manifest = result.Manifest{Scenario: *b.Scenario, Command: []string{"prony", "soak", folder}}
			return b.stand, nil
		},
		Say:     func(format string, args ...any) { b.said = append(b.said, fmt.Sprintf(format, args...)) },
		Step:    func(s Status) { b.steps = append(b.steps, s) },
		Publish: func(Status) {},
	}
	return b
}

// changing modifies each window before it is returned.
func (b *bench) changing(change func(number int, w *Window)) *bench {
	b.Deploy = func(_ context.Context, dir string) (Stand, error) {
		b.stand = newFakeStand(dir)
		b.stand.change = change
		return b.stand, nil
	}
	return b
}

// stopAfter returns a context that ends after the given number of windows.
func (b *bench) stopAfter(t *testing.T, windows int) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	b.every = time.Nanosecond
	b.Step = func(s Status) {
		if s.Soak.Totals.Windows == windows {
			cancel()
		}
	}
	return ctx
}

func verdicts(s *result.Soak) map[string]result.Verdict {
	of := map[string]result.Verdict{}
	for _, d := range s.Drifts {
		of[d.Figure] = d.Verdict
	}
	return of
}

// rising returns the factor by which a leaking figure is higher in window number of the given
// total, around its mean.
func rising(number, of int, percent float64) float64 {
	return 1 + percent/100*((float64(number)-0.5)/float64(of)-0.5)
}

func scaled(v int64, by float64) int64 { return int64(math.Round(float64(v) * by)) }
