package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/soak"
)

// madeUpStand is a soak.Stand without servers, whose windows are all equal.
type madeUpStand struct {
	window   func(w *soak.Window)
	manifest result.Manifest
	closed   bool
}

func (m *madeUpStand) Measure(ctx context.Context, _ int, _ bool) (soak.Window, error) {
	h := result.NewHistograms()
	for _, kind := range h.Kinds() {
		if err := kind.Histogram.RecordValue(1e6); err != nil {
			return soak.Window{}, err
		}
	}
	texts, err := h.Encode()
	w := soak.Window{
		Histograms: texts,
		Round: result.Round{
			Verdict: result.Pass, WindowSeconds: 1, Cycles: 1000, Ledger: result.Ledger{Enqueued: 1000, Completed: 1000},
			Metrics: map[string]float64{result.ServerCPUUsPerCycle: 2, result.ClientCPUUsPerCycle: 1},
		},
		Processes: []soak.Process{
			{Name: soak.HarnessName, RSSBytes: 1 << 20, FDs: 3, Goroutines: 4}, {Name: "server", RSSBytes: 1 << 20, FDs: 3, Goroutines: 4, DataBytes: 5},
		},
	}
	if m.window != nil {
		m.window(&w)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return w, err
}

func (m *madeUpStand) Manifest() result.Manifest { return m.manifest }

func (*madeUpStand) Recover(context.Context) (soak.Window, bool, error) {
	return soak.Window{}, false, nil
}

func (m *madeUpStand) Close(context.Context, bool) error {
	m.closed = true
	return nil
}

// soaked is a soak scenario with 70 windows.
const soaked = `scenario "soaked" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
  soak { for = "70s" }
  invariant "conserved" {}
}
`

// pronySoak runs prony soak on a stand.
func pronySoak(t *testing.T, ctx context.Context, stand *madeUpStand, args ...string) command { //nolint:revive // t comes first in tests
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := soakCommand(append([]string{"prony", "soak"}, args...), func(_ context.Context, s *scenario.Scenario, o soakServers) (soak.Stand, error) {
		stand.manifest = result.Manifest{Scenario: *s, Command: o.command}
		return stand, nil
	})
	c.SetArgs(args)
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	code := 0
	if err := c.ExecuteContext(ctx); err != nil {
		code = result.Misconfigured.ExitCode()
		if verdict, is := err.(verdictError); is { //nolint:errorlint // the error is not wrapped
			code = verdict.verdict.ExitCode()
		} else {
			fmt.Fprintln(&stderr, err)
		}
	}
	said := regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(stderr.String(), "127.0.0.1:PORT")
	said = regexp.MustCompile(`about \S+ left`).ReplaceAllString(said, "about TIME left")
	return command{code, stdout.String(), said}
}

func TestSoakCommand(t *testing.T) {
	inFolder(t)
	write(t, "soaked.hcl", soaked)
	stand := &madeUpStand{}
	got := pronySoak(t, t.Context(), stand, "--json", "--listen", "0", "soaked.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.True(t, stand.closed)
	d := got.document(t)
	assert.Equal(t, result.Pass, d.Verdict)
	require.Len(t, d.Scenarios, 1)
	assert.Equal(t, filepath.Join("runs", "soaked"), d.Scenarios[0].Run)
	assert.InDelta(t, 1000, d.Scenarios[0].Metrics[result.CyclesPerS].Median, 1e-9)
	s := sheet(t)
	s.Equal(t, "a soak", got.stderr)
	for _, file := range []string{"report.html", "report.md", "soak.json", "soaked-cycles-per-s.svg"} {
		assert.FileExists(t, filepath.Join("runs", "soaked", file))
	}

	refused(t, s, "a finished soak", pronySoak(t, t.Context(), &madeUpStand{}, "soaked.hcl"))

	require.NoError(t, os.Remove(filepath.Join("runs", "soaked", "report.md")))
	page := prony(t, "report", "runs/soaked")
	assert.Equal(t, 0, page.code, page.stderr)
	assert.FileExists(t, filepath.Join("runs", "soaked", "report.md"))
	write(t, "baselines/tiny.hcl", commented)
	proposed := prony(t, "baseline", "propose", "runs/soaked")
	assert.Equal(t, 0, proposed.code, "a soak has no limits: %s", proposed.stderr)
}

func TestVerdictsOfTheSoakCommand(t *testing.T) {
	inFolder(t)
	write(t, "soaked.hcl", soaked)
	s := sheet(t)
	for name, c := range map[string]struct {
		window func(w *soak.Window)
		code   int
	}{
		"ledger":  {func(w *soak.Window) { w.Round.Ledger.Lost = 1 }, 5},
		"ends":    {func(w *soak.Window) { w.ServerEnds = 1 }, 1},
		"invalid": {func(w *soak.Window) { w.Round.Verdict = result.Invalid }, 3},
		"short":   {nil, 4},
	} {
		got := pronySoak(t, t.Context(), &madeUpStand{window: c.window}, "--for", "2s", "--folder", name, "soaked.hcl")
		assert.Equal(t, c.code, got.code, name)
		s.Equal(t, name, got.stderr)
	}
}

func TestInterruptedSoakCommand(t *testing.T) {
	inFolder(t)
	write(t, "soaked.hcl", soaked)
	ctx, cancel := context.WithCancel(t.Context())
	stand := &madeUpStand{}
	stand.window = func(*soak.Window) { cancel() }
	got := pronySoak(t, ctx, stand, "--json", "soaked.hcl")
	assert.NotZero(t, got.code)
	assert.Empty(t, got.stdout, "no verdict")
	assert.True(t, stand.closed)
	s := sheet(t)
	s.Equal(t, "interrupted", got.stderr)
	got = pronySoak(t, t.Context(), &madeUpStand{}, "soaked.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
	s.Equal(t, "continued", got.stderr)
}

func TestMistakesOfTheSoakCommand(t *testing.T) {
	inFolder(t)
	write(t, "soaked.hcl", soaked)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	write(t, "two.hcl", strings.Replace(soaked, "soaked", "a", 1)+strings.Replace(soaked, "soaked", "b", 1))
	s := sheet(t)
	for _, line := range []string{"--for 0 soaked.hcl", "--for 500ms soaked.hcl", "--listen :80 soaked.hcl", "soaked.hcl tiny.hcl", "two.hcl", "tiny.hcl"} {
		refused(t, s, line, pronySoak(t, t.Context(), &madeUpStand{}, strings.Fields(line)...))
	}
	assert.NoDirExists(t, "runs")
}
