package k6run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
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
	assert.NoDirExists(t, p.place.dir)
	return ended, err
}

func TestRoundOfAScript(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "say hello", "print summary", "connect", "ready 2", "begin", "progress 3", "progress 5", "window", "outcome", "exit 0")
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
	cfg := acting(t, "note "+noted, "connect", "ready 2", "begin", "window", "outcome")
	cfg.Plan.Workload.Procs, cfg.CA = 3, clienttls.Made("authority")
	_, err := carry(t.Context(), t, cfg, load.Hooks{})
	require.NoError(t, err)
	text, err := os.ReadFile(noted)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"PRONY_ADDRESS=127.0.0.1:1,127.0.0.1:2", "PRONY_ADMIN=127.0.0.1:3", "PRONY_TOKEN=secret", "GOMAXPROCS=3",
		"PRONY_TLS_CA=authority", "PRONY_TLS_NAME=server",
		"K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false", "run", "--quiet", "--no-usage-report", "--no-color", cfg.Plan.Workload.Script.Path,
	} {
		assert.Contains(t, lines, want)
	}
	for _, line := range lines {
		assert.NotContains(t, line, "=17", "settings of this process are not inherited")
	}
}

// If a script does not end properly, the error describes k6's failure and shows its last messages.
func TestProcessesThatGoWrong(t *testing.T) {
	t.Parallel()
	brief := func(of func(*Config) *time.Duration) func(*Config) {
		return func(c *Config) { *of(c) = 50 * time.Millisecond }
	}
	ready := brief(func(c *Config) *time.Duration { return &c.readyTimeout })
	outcome := brief(func(c *Config) *time.Duration { return &c.outcomeMargin })
	exit := brief(func(c *Config) *time.Duration { return &c.exitTimeout })
	grace := brief(func(c *Config) *time.Duration { return &c.grace })
	for name, c := range map[string]struct {
		steps string
		with  []func(*Config)
		says  []string
	}{
		"it throws":             {"say SyntaxError: at plan.js:3 | exit 107", nil, []string{"k6 ended before its script was ready", "status: exit status 107", "SyntaxError: at plan.js:3"}},
		"it never connects":     {"hang", []func(*Config){ready}, []string{"the script was not ready after 50ms", "status: running"}},
		"it is never ready":     {"connect | hang", []func(*Config){ready}, []string{"the script was not ready after 50ms"}},
		"it hangs up":           {"connect | close | hang", []func(*Config){ready}, []string{"the script was not ready after 50ms"}},
		"it hangs up and ends":  {"connect | close | exit 104", nil, []string{"k6 ended before its script was ready", "exit status 104"}},
		"dropped called shed":   {"connect | ready 1 | hang", nil, []string{"the k6 extension has message version 1, the harness has 2"}},
		"another version":       {"connect | ready 7 | hang", nil, []string{"the k6 extension has message version 7, the harness has 2: run `make k6`"}},
		"garbage":               {"connect | raw GET / HTTP/1.1 | hang", nil, []string{"k6 sent an invalid message", "GET / HTTP/1.1"}},
		"an empty message":      {"connect | raw {} | hang", nil, []string{`"{}" has 0 of ready, progress and outcome`}},
		"two in one":            {`connect | raw {"ready":{"version":2},"progress":{}} | hang`, nil, []string{"has 2 of ready, progress and outcome, expected one"}},
		"progress first":        {`connect | raw {"progress":{}} | hang`, nil, []string{"k6 sent another message before the script was ready"}},
		"too long a message":    {"connect | long | hang", nil, []string{"a message is longer than 4194304 bytes"}},
		"garbage in the window": {"connect | ready 2 | begin | raw x | hang", nil, []string{"k6 sent an invalid message"}},
		"ready twice":           {"connect | ready 2 | ready 2 | hang", nil, []string{"a second ready message"}},
		"it dies":               {"connect | ready 2 | begin | die", nil, []string{"k6 ended without an outcome", "after the begin of its load", "signal: killed"}},
		"it breaks off":         {"connect | ready 2 | begin | close | hang", []func(*Config){exit}, []string{"k6 closed the connection without an outcome", "status: running"}},
		"no outcome":            {"connect | ready 2 | begin | hang", []func(*Config){outcome}, []string{"the script has not ended 50ms after the end of its drain"}},
		"too early":             {"connect | ready 2 | begin | outcome | exit 0", nil, []string{"the script ended its load", "before the end of the window at 110ms: its VUs must continue", "plan.js"}},
		"too early, and throws": {"say Uncaught | connect | ready 2 | begin | outcome | exit 107", nil, []string{"the script ended its load", "the end of the window at 110ms: k6 failed", "exit status 107", "Uncaught"}},
		"no histograms":         {`connect | ready 2 | begin | window | raw {"outcome":{"finished_ns":110000000}} | exit 0`, nil, []string{"k6 sent an invalid message", "histogram"}},
		"a histogram of noise":  {`connect | ready 2 | begin | window | raw {"outcome":{"finished_ns":110000000,"histograms":{"enqueue":"HIST"}}} | exit 0`, nil, []string{"decode the enqueue histogram"}},
		"of another kind":       {"connect | ready 2 | begin | window | outcome open | exit 0", nil, []string{"the outcome is of an open load: true, expected false"}},
		"it does not end":       {"connect | ready 2 | begin | window | outcome | hang", []func(*Config){exit}, []string{"k6 has not ended 50ms after its script"}},
		"it does not obey":      {"stubborn | connect | ready 2 | begin | window | outcome | hang", []func(*Config){exit, grace}, []string{"k6 has not ended 50ms after its script"}},
		"its teardown throws":   {"connect | ready 2 | begin | window | outcome | say teardown failed | exit 107", nil, []string{"k6 failed", "exit status 107", "teardown failed"}},
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
			for _, says := range c.says {
				assert.Contains(t, err.Error(), says)
			}
		})
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	const said = "thresholds on metrics 'prony_lost, prony_cycles' have been crossed"
	ended, err := carry(t.Context(), t, acting(t, "connect", "ready 2", "begin", "window", "outcome", "say "+said, "say and more", "exit 99"), load.Hooks{})
	require.NoError(t, err)
	assert.Equal(t, said, ended.Thresholds)

	// A threshold that aborts the test ends the load before its window.
	_, err = carry(t.Context(), t, acting(t, "connect", "ready 2", "begin", "outcome", "say "+said, "exit 99"), load.Hooks{})
	var of *Error
	require.ErrorAs(t, err, &of)
	assert.Equal(t, said, of.Thresholds)
	assert.Contains(t, err.Error(), "before the end of the window at 110ms: "+said)
}

func TestOpenLoad(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "connect", "ready 2", "begin", "window", "outcome open")
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
	_, err := Start(ctx, acting(t, "connect", "hang"))
	require.ErrorIs(t, err, cause)

	for name, steps := range map[string]string{"window": "hang", "end": "window | outcome | hang"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err := carry(ctx, t, acting(t, "connect | ready 2 | begin | progress 1 | "+steps), load.Hooks{
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
	_, err := carry(t.Context(), t, acting(t, "connect", "ready 2", "begin", "hang"), load.Hooks{
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
	p, err := Start(t.Context(), acting(t, "connect", "ready 2", "begin", "say Aborted", "exit 109"))
	require.NoError(t, err)
	e := p.config.Plan.edges(time.Now())
	heard := p.channel
	require.NoError(t, heard.send(Begin{UnixNS: e.epoch.UnixNano()}))
	<-p.child.Done()
	broken := &hookCalls{failed: make(chan struct{}), err: errors.New("no such process")}
	close(broken.failed)
	p.channel = &channel{} // never has a message
	_, err = p.hear(t.Context(), e, nil, broken)
	p.channel = heard
	require.NoError(t, p.Close())
	require.NotErrorIs(t, err, broken.err)
	require.ErrorContains(t, err, "k6 ended without an outcome")
	require.ErrorContains(t, err, "Aborted")
}

// A process's descendants end with it, however it ends.
func TestNothingOfAProcessIsLeft(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"ends": "exit 0", "dies": "die", "hangs": "hang"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noted := filepath.Join(t.TempDir(), "pid")
			cfg := acting(t, "child "+noted, "connect", "ready 2", "begin", "window", "outcome", last)
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
	require.ErrorContains(t, err, "the script has changed since the scenario was read")
	require.NoError(t, os.Remove(cfg.Plan.Workload.Script.Path))
	_, err = Start(t.Context(), cfg)
	var of *Error
	require.ErrorAs(t, err, &of)
	assert.Contains(t, of.Problem, "the script can't be read")
	assert.NoFileExists(t, cfg.LogPath, "no process was started")
}

func TestBinaryThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	cfg := acting(t, "exit 0")
	require.NoError(t, os.WriteFile(cfg.Binary, []byte("\x7fELF"), 0o700))
	_, err := Start(t.Context(), cfg)
	require.ErrorContains(t, err, "start "+cfg.Binary)
}

// The path of a socket is short even if the path of the temporary folder is long.
func TestSocketHasAShortPath(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	require.NoError(t, os.Mkdir(long, 0o700))
	t.Setenv("TMPDIR", long)
	w, err := newWorkplace()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(w.socket()), socketBytesMax)
	left, err := os.ReadDir(long)
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, w.close())
	require.NoError(t, w.close())
	assert.NoDirExists(t, w.dir)
}

func TestErrorShowsTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for i := range 50 {
		b.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	lines := lastLines(path)
	require.Len(t, lines, proc.ErrorLines)
	assert.Equal(t, "line 30", lines[0])
	e := &Error{Problem: "it failed", Script: "a.js", Status: "running", LogPath: path, Lines: lines[:1]}
	assert.Equal(t, "it failed\n  script: a.js\n  status: running\n  log: "+path+", which ends with\n    line 30", e.Error())
	assert.Contains(t, lastLines(path + "x")[0], "can't be read")
}
