package k6run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// carry starts, runs and closes a process, and checks that nothing of it remains.
func carry(ctx context.Context, t *testing.T, cfg Config, hooks load.Hooks) (*Ended, error) {
	t.Helper()
	p, err := Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ended, err := p.Run(ctx, hooks)
	require.NoError(t, p.Close())
	assert.NoDirExists(t, "/proc/"+strconv.Itoa(p.PID()))
	return ended, err
}

func TestRoundOfAScript(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "say hello", "print summary", "hello 2", "ready", "begin", "progress 3", "progress 5", "window", "outcome", "exit 0")
	var mu sync.Mutex
	var seen []load.Progress
	var edges []time.Time
	edge := func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		edges = append(edges, time.Now())
		return nil
	}
	p, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	assert.DirExists(t, "/proc/"+strconv.Itoa(p.PID()))
	last, at := p.Progress()
	assert.Zero(t, last)
	assert.True(t, at.IsZero(), "no report yet")
	ended, err := p.Run(t.Context(), load.Hooks{WindowStart: edge, WindowEnd: edge, Progress: func(now load.Progress) { seen = append(seen, now) }})
	require.NoError(t, err)
	require.NoError(t, p.Close())

	o := ended.Outcome
	assert.EqualValues(t, 7, o.Cycles)
	assert.EqualValues(t, 8, o.Enqueued)
	assert.EqualValues(t, 7, o.CycleLatency.TotalCount())
	assert.Equal(t, load.Refusals{Count: 1, First: "produce: it is closed"}, o.FailedCalls)
	assert.True(t, o.Drained)
	assert.Equal(t, 100*time.Millisecond, o.Window)
	assert.Equal(t, 10*time.Millisecond, o.WindowStart.Sub(o.Launched))
	assert.Equal(t, o.Window, o.WindowEnd.Sub(o.WindowStart))
	assert.False(t, o.Finished.Before(o.WindowEnd))
	assert.Equal(t, result.Ledger{Enqueued: 8, Completed: 8, Samples: []string{"one"}}, ended.Ledger)
	assert.Empty(t, ended.Thresholds)

	require.Len(t, edges, 2)
	assert.False(t, edges[0].Before(o.WindowStart))
	assert.False(t, edges[1].Before(o.WindowEnd))
	assert.False(t, o.StartHook.Called.After(o.StartHook.Returned))
	assert.False(t, o.EndHook.Called.IsZero())
	require.Len(t, seen, 2)
	last, at = p.Progress()
	assert.EqualValues(t, 5, last.Completed)
	assert.Equal(t, o.Launched.Add(seen[1].Elapsed), at)

	log, err := os.ReadFile(cfg.LogPath)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(log))
	summary, err := os.ReadFile(cfg.SummaryPath)
	require.NoError(t, err)
	assert.Equal(t, "summary\n", string(summary))
}

// The environment of a process has the plan's settings, and no inherited settings of k6 or the
// extension.
func TestWhatAProcessIsCalledWith(t *testing.T) {
	for _, name := range []string{"K6_VUS", "PRONY_PLAN", "PRONY_INSTANCE", "GOMAXPROCS"} {
		t.Setenv(name, "17")
	}
	noted := filepath.Join(t.TempDir(), "noted")
	cfg := acting(t, "note "+noted, "hello 2", "ready", "begin", "window", "outcome")
	cfg.Plan.Workload.Procs, cfg.CA = 3, clienttls.Made("authority")
	_, err := carry(t.Context(), t, cfg, load.Hooks{})
	require.NoError(t, err)
	text, err := os.ReadFile(noted)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	assert.Subset(t, lines, []string{
		"PRONY_ADDRESS=127.0.0.1:1,127.0.0.1:2", "PRONY_ADMIN=127.0.0.1:3", "PRONY_TOKEN=secret", "GOMAXPROCS=3",
		"PRONY_TLS_CA=authority", "PRONY_TLS_NAME=server",
		"K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false", "run", "--quiet", "--no-usage-report", "--no-color", cfg.Plan.Workload.Script.Path,
	})
	for _, line := range lines {
		assert.NotContains(t, line, "=17", "settings of this process are not inherited")
	}
}

var (
	afterTime = regexp.MustCompile(`load after [^ ]+,`)
	// The process answers the first call before or after the timeout.
	lateCall = regexp.MustCompile(`(hello|ready): the script was not ready`)
	// A process that hangs up does so before or after the next call is sent.
	unsentCall = regexp.MustCompile(`write \|1: broken pipe\n`)
)

// If a script does not end properly, the error describes k6's failure and shows its last messages.
func TestProcessesThatGoWrong(t *testing.T) {
	t.Parallel()
	brief := func(of func(*Config) *time.Duration) func(*Config) {
		return func(c *Config) { *of(c) = 50 * time.Millisecond }
	}
	ready := brief(func(c *Config) *time.Duration { return &c.readyTimeout })
	outcome := brief(func(c *Config) *time.Duration { return &c.outcomeMargin })
	exit := brief(func(c *Config) *time.Duration { return &c.exitTimeout })
	long := func(c *Config) { c.Plan.Phases.Window = time.Hour }
	texts := golden.Cases(t, "testdata/wrong.golden")
	for name, c := range map[string]struct {
		steps string
		with  []func(*Config)
	}{
		"it throws":             {"say SyntaxError: at plan.js:3 | exit 107", nil},
		"it never answers":      {"hang", []func(*Config){ready}},
		"it is never ready":     {"hello 2 | hang", []func(*Config){ready}},
		"it hangs up and ends":  {"hello 2 | close | exit 104", nil},
		"another version":       {"hello 7 | hang", nil},
		"garbage":               {"raw GET / HTTP/1.1 | hang", nil},
		"an empty answer":       {"hello 2 | raw {} | hang", nil},
		"an error":              {`hello 2 | raw {"call":2,"error":"no VU"} | hang`, nil},
		"garbage in the window": {"hello 2 | ready | begin | raw x | hang", nil},
		"ready twice":           {`hello 2 | ready | raw {"call":2} | hang`, nil},
		"it dies":               {"hello 2 | ready | begin | die", nil},
		"no outcome":            {"hello 2 | ready | begin | hang", []func(*Config){outcome}},
		"too early":             {"hello 2 | ready | begin | outcome | exit 0", []func(*Config){long}},
		"too early, and throws": {"say Uncaught | hello 2 | ready | begin | outcome | exit 107", []func(*Config){long}},
		"no histograms":         {`hello 2 | ready | begin | window | raw {"call":4,"done":{"outcome":{"finished_ns":110000000}}} | exit 0`, nil},
		"a histogram of noise":  {`hello 2 | ready | begin | window | raw {"call":4,"done":{"outcome":{"finished_ns":110000000,"histograms":{"enqueue":"HIST"}}}} | exit 0`, nil},
		"of another kind":       {"hello 2 | ready | begin | window | outcome open | exit 0", nil},
		"it does not end":       {"hello 2 | ready | begin | window | outcome | hang", []func(*Config){exit}},
		"its teardown throws":   {"hello 2 | ready | begin | window | outcome | say teardown failed | exit 107", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := acting(t, c.steps)
			for _, with := range c.with {
				with(&cfg)
			}
			ended, err := carry(t.Context(), t, cfg, load.Hooks{})
			require.Error(t, err)
			assert.Nil(t, ended)
			var of *Error
			require.ErrorAs(t, err, &of)
			assert.Empty(t, of.Thresholds)
			text := strings.NewReplacer(cfg.Plan.Workload.Script.Path, "SCRIPT", cfg.LogPath, "LOG").Replace(err.Error())
			text = afterTime.ReplaceAllString(text, "load after TIME,")
			text = unsentCall.ReplaceAllString(text, "")
			texts.Equal(t, name, lateCall.ReplaceAllString(text, "CALL: the script was not ready"))
		})
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	const said = "thresholds on metrics 'prony_lost, prony_cycles' have been crossed"
	ended, err := carry(t.Context(), t, acting(t, "hello 2", "ready", "begin", "window", "outcome", "say "+said, "say and more", "exit 99"), load.Hooks{})
	require.NoError(t, err)
	assert.Equal(t, said, ended.Thresholds)

	// A threshold that aborts the test ends the load before its window.
	cfg := acting(t, "hello 2", "ready", "begin", "outcome", "say "+said, "exit 99")
	cfg.Plan.Phases.Window = time.Hour
	_, err = carry(t.Context(), t, cfg, load.Hooks{})
	var of *Error
	require.ErrorAs(t, err, &of)
	assert.Equal(t, said, of.Thresholds)
	assert.Contains(t, err.Error(), said+"\nthe script ended its load")
}

func TestOpenLoad(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "hello 2", "ready", "begin", "window", "outcome open")
	cfg.Plan.Workload.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 9}}
	ended, err := carry(t.Context(), t, cfg, load.Hooks{})
	require.NoError(t, err)
	require.NotNil(t, ended.Outcome.Open)
	assert.EqualValues(t, 10, ended.Outcome.Open.Scheduled)
	assert.NotNil(t, ended.Outcome.Open.Slip)
}

// A done context ends the process in any phase.
func TestProcessEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("a server has ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := Start(ctx, acting(t, "hang"))
	require.ErrorIs(t, err, cause)

	for name, steps := range map[string]string{"window": "hang", "end": "window | outcome | hang"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err := carry(ctx, t, acting(t, "hello 2 | ready | begin | progress 1 | "+steps), load.Hooks{
				Progress: func(load.Progress) {
					if name == "window" {
						cancel(cause)
					}
				},
				WindowEnd: func(context.Context) error { cancel(cause); return nil },
			})
			require.ErrorIs(t, err, cause)
		})
	}
}

func TestHooksThatFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such thing")
	_, err := carry(t.Context(), t, acting(t, "hello 2", "ready", "begin", "hang"), load.Hooks{
		WindowStart: func(context.Context) error { return broken },
		WindowEnd:   func(context.Context) error { panic("it must not be called") },
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "hook at the window start")
}

// If a hook fails because the process has ended, the error is the exit of the process, even if the
// hook fails first.
func TestHookThatFailsSinceTheProcessHasEnded(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), acting(t, "hello 2", "ready", "begin", "say Aborted", "exit 109"))
	require.NoError(t, err)
	broken := errors.New("no such process")
	_, err = p.Run(t.Context(), load.Hooks{WindowNear: func(ctx context.Context) error { return errors.Join(p.commands.Wait(ctx, patience), broken) }})
	require.NoError(t, p.Close())
	require.NotErrorIs(t, err, broken)
	require.ErrorContains(t, err, ": exit status 109\n")
	require.ErrorContains(t, err, "Aborted")
}

// A process's descendants end with it, however it ends.
func TestNothingOfAProcessIsLeft(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"ends": "exit 0", "dies": "die", "hangs": "hang"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noted := filepath.Join(t.TempDir(), "pid")
			cfg := acting(t, "child "+noted, "hello 2", "ready", "begin", "window", "outcome", last)
			if last == "hang" {
				cfg.exitTimeout = 10 * time.Millisecond
			}
			_, err := carry(t.Context(), t, cfg, load.Hooks{})
			assert.Equal(t, last == "exit 0", err == nil, "%v", err)
			pid, err := os.ReadFile(noted)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return gone(t, string(pid)) }, patience, time.Millisecond)
		})
	}
}

// gone reports whether a process has ended. It may not have been reaped yet.
func gone(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	require.NoError(t, err)
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestScriptMustBeAsItWasRead(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "exit 0")
	require.NoError(t, os.WriteFile(cfg.Plan.Workload.Script.Path, []byte("other"), 0o600))
	_, err := Start(t.Context(), cfg)
	s := golden.Cases(t, "testdata/scripts.golden")
	s.Replace(cfg.Plan.Workload.Script.Path, "SCRIPT")
	s.Error(t, "changed", err)
	require.NoError(t, os.Remove(cfg.Plan.Workload.Script.Path))
	_, err = Start(t.Context(), cfg)
	var of *Error
	require.ErrorAs(t, err, &of)
	s.Error(t, "removed", of)
	assert.NoFileExists(t, cfg.LogPath, "no process was started")
}

func TestBinaryThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "exit 0")
	require.NoError(t, os.WriteFile(cfg.Binary, []byte("\x7fELF"), 0o700))
	_, err := Start(t.Context(), cfg)
	s := golden.Cases(t, "testdata/binary.golden")
	s.Replace(cfg.Binary, "BINARY")
	s.Error(t, "not a program", err)
}
