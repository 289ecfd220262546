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
	// tracesDir is the subfolder of a run folder for traces.
	tracesDir = "traces"
	// traceSeconds is the period before a slow cycle that a trace should cover. The recording may
	// be shorter.
	traceSeconds = 5
	// traceTakeMax bounds the time to read the traces of all servers. The end of the window waits
	// for the traces.
	traceTakeMax = 20 * time.Second
)

// traceProbe makes the servers record execution traces. At the first cycle that takes longer than
// the ceiling it stores the recordings. Its methods do nothing on nil.
type traceProbe struct {
	ceiling time.Duration
	slow    load.Slow
	// breach receives the latency of the slow cycle. It has room for one value, which is enough
	// because Slow reports only once.
	breach chan time.Duration
	cancel context.CancelFunc
	done   sync.WaitGroup

	servers   []*serverProbe
	recorders []*profile.Recorder       // one per server; nil if the server has no recorder
	began     atomic.Pointer[time.Time] // start of the window; nil until it starts
	folder    string
	round     int
	traces    []result.Trace
	warnings  []string
}

// newTraceProbe returns a traceProbe, or nil if rounds of the given kind take no trace.
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

func (t *traceProbe) watch() *load.Slow {
	if t == nil {
		return nil
	}
	return &t.slow
}

func (t *traceProbe) warn(format string, args ...any) {
	t.warnings = append(t.warnings, fmt.Sprintf("round %d: ", t.round)+fmt.Sprintf(format, args...))
}

// record starts the recorders. It is called before the load, because the warm-up may explain the
// first slow cycle of the window. If a server has no recorder, record only adds a warning.
func (t *traceProbe) record(ctx context.Context, servers []*serverProbe) {
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

func (t *traceProbe) start(_ context.Context, began time.Time) error {
	if t != nil {
		t.began.Store(&began)
	}
	return nil
}

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
		t.warn("a cycle took %v, above the ceiling of %v: the execution of the server before it is in %s; read it with go tool trace",
			took.Round(time.Millisecond/10), t.ceiling, t.traces[0].File)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// stop must be called at the end of the window, because later slow cycles do not belong to the
// window. It waits for a trace that is being taken, unless ctx is done. It may be called
// repeatedly.
func (t *traceProbe) stop(ctx context.Context) error {
	if t == nil || t.cancel == nil {
		return nil
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
	return nil
}

func (t *traceProbe) fill(m *measured) error {
	if t != nil {
		m.round.Traces = t.traces
		m.warnings = append(m.warnings, t.warnings...)
	}
	return nil
}
