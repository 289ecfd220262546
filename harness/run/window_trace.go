package run

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// tracesDir is where traces are, in a run folder.
	tracesDir = "traces"
	// traceSeconds is how much of the time before a slow cycle is wanted; what is recorded may reach less far back.
	traceSeconds = 5
	// traceTakeMax bounds the taking of all servers' traces: the window's end waits for it.
	traceTakeMax = 20 * time.Second
)

// traceProbe has the servers record what they execute, and at the first cycle above the ceiling takes what they have
// recorded. A nil one does nothing.
type traceProbe struct {
	ceiling time.Duration
	slow    load.Slow
	breach  chan time.Duration // has the slow cycle's latency; holds one, and Slow tells once
	cancel  context.CancelFunc
	done    sync.WaitGroup

	servers   []*serverProbe
	recorders []*profile.Recorder       // of each server, nil where it has none
	began     atomic.Pointer[time.Time] // when the window did; nil before, when no cycle is slow
	folder    string
	round     int
	traces    []result.Trace
	warnings  []string
}

// newTraceProbe returns nil where no trace is wanted of that kind of round.
func newTraceProbe(s *scenario.Scenario, k kind, number int, folder *result.Folder) *traceProbe {
	for _, c := range s.Captures {
		if c.CycleLatency > 0 && k == profiled {
			t := &traceProbe{ceiling: c.CycleLatency, breach: make(chan time.Duration, 1), round: number, folder: folder.Path()}
			t.slow.Than = c.CycleLatency
			t.slow.Report = func(took time.Duration) { t.breach <- took }
			return t
		}
	}
	return nil
}

// watch is what the load tells of a slow cycle.
func (t *traceProbe) watch() *load.Slow {
	if t == nil {
		return nil
	}
	return &t.slow
}

func (t *traceProbe) warn(format string, args ...any) {
	t.warnings = append(t.warnings, fmt.Sprintf("round %d: ", t.round)+fmt.Sprintf(format, args...))
}

// start comes before the load: what is executed in the warm-up may explain the window's first slow cycle. A server
// without a recorder is only less to look at.
func (t *traceProbe) start(ctx context.Context, servers []*serverProbe) {
	if t == nil {
		return
	}
	t.servers, t.recorders = servers, make([]*profile.Recorder, len(servers))
	for i, s := range servers {
		var err error
		if t.recorders[i], err = profile.StartRecorder(ctx, s.admin, traceSeconds); err != nil {
			t.warn("no trace: %v", err)
		}
	}
	ctx, t.cancel = context.WithCancel(ctx)
	t.done.Go(func() {
		select {
		case took := <-t.breach:
			t.take(ctx, took)
		case <-ctx.Done():
		}
	})
}

// windowBegins comes at the window's start.
func (t *traceProbe) windowBegins(at time.Time) {
	if t != nil {
		t.began.Store(&at)
	}
}

// take stores what each server has recorded.
func (t *traceProbe) take(ctx context.Context, took time.Duration) {
	if err := os.MkdirAll(filepath.Join(t.folder, tracesDir), 0o755); err != nil {
		t.warn("no trace: %v", err)
		return
	}
	var at time.Duration
	if began := t.began.Load(); began != nil {
		at = time.Since(*began)
	}
	ctx, cancel := context.WithTimeout(ctx, traceTakeMax)
	defer cancel()
	for i, r := range t.recorders {
		if r == nil {
			continue
		}
		node := t.servers[i].server.ID
		name := fmt.Sprintf("round-%02d", t.round)
		if node != "" {
			name += "-" + node
		}
		file := path.Join(tracesDir, name+".trace")
		if err := r.Take(ctx, filepath.Join(t.folder, filepath.FromSlash(file))); err != nil {
			t.warn("no trace: %v", err)
			continue
		}
		t.traces = append(t.traces, result.Trace{
			Node: node, File: file, AtS: at.Seconds(), LatencyMs: ms(took), CeilingMs: ms(t.ceiling),
		})
	}
	if len(t.traces) > 0 {
		t.warn("a cycle took %v, and %v is the ceiling: what the server executed before that is in %s; read it with go tool trace",
			took.Round(time.Millisecond/10), t.ceiling, t.traces[0].File)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// stop comes at the window's end. A trace that is being taken is waited for, unless ctx ends; what is slow from now on is
// not the window's. It may be called twice.
func (t *traceProbe) stop(ctx context.Context) {
	if t == nil || t.cancel == nil {
		return
	}
	if ctx.Err() != nil || !t.slow.Reported() {
		t.cancel()
	}
	t.done.Wait()
	t.cancel()
	for i, r := range t.recorders {
		if r == nil {
			continue
		}
		if err := r.Stop(ctx); err != nil && t.servers[i].server.Node().Running() {
			t.warn("%v", err)
		}
	}
	t.cancel = nil
}
