package duet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// fakeHost is a host with its running parties. Only slices take time on it.
type fakeHost struct {
	clock   time.Time
	parties []*fakeParty
	// slowed returns the extra duration of a slice, by generation, side and the number of the
	// side's slice.
	slowed func(generation, side, slice int) time.Duration
	// used returns the CPU time of a party in a slice of its side (own) or of the other side.
	used func(own bool) clocks
	// broken returns the error of a side's slice.
	broken func(generation, side, slice int) error
	// refused returns the error of a side's start.
	refused func(generation, side int) error
	// ended changes the final report of a party, by generation and side.
	ended   func(generation, side int, of *finished)
	signals result.Signals
	// unread is the error of reading the counters of any party.
	unread error
	// code is the mapping of each side's program code. uncoded is the error of reading it.
	code    [2]code
	uncoded error
	// settings are the settings that the servers of each side report.
	settings [2][]result.ServerSettings
	// read lists the generations and sides whose CPU clocks and counters were read, in order.
	read struct{ clocks, counters [][2]int }
	// unprofiled is the error of profiling any party.
	unprofiled error
}

// fakeParty completes a cycle for each 10 µs of a slice.
type fakeParty struct {
	host             *fakeHost
	generation, side int
	now              clocks
	slices           int
	open             []string // its open slices
	begun            []int    // the points whose load was begun, in order
	finished         finished
	died             error
	stops            int
}

func (p *fakeParty) settings() []result.ServerSettings { return p.host.settings[p.side] }

func (p *fakeParty) cpu() (clocks, error) {
	p.host.read.clocks = append(p.host.read.clocks, [2]int{p.generation, p.side})
	return p.now, nil
}

// counters reports a millisecond of a stage and an fsync of 2 us per slice, including open ones.
func (p *fakeParty) counters(context.Context) ([]observe.Metrics, error) {
	p.host.read.counters = append(p.host.read.counters, [2]int{p.generation, p.side})
	if p.host.unread != nil {
		return nil, p.host.unread
	}
	n := float64(p.slices + len(p.open))
	const key = `prony_stage_seconds{stage="apply"}`
	return []observe.Metrics{{
		Values: map[string]float64{
			`prony_stage_seconds_sum{stage="apply"}`: n / 1e3, "prony_storage_fsyncs_total": n, observe.FsyncSeconds: 2e-6 * n,
		},
		Histograms: map[string]observe.Buckets{key: {{Upper: 1e-6}, {Upper: math.Inf(1), Count: uint64(n)}}},
	}}, nil
}

func (p *fakeParty) code() (code, error) { return p.host.code[p.side], p.host.uncoded }

func (p *fakeParty) begin(_ context.Context, point int) error {
	p.begun = append(p.begun, point)
	return nil
}

func (p *fakeParty) slice(_ context.Context, length time.Duration) (uint64, time.Duration, error) {
	p.slices++
	took := length
	if p.host.slowed != nil {
		took += p.host.slowed(p.generation, p.side, p.slices)
	}
	p.host.clock = p.host.clock.Add(took)
	for _, of := range p.host.parties {
		if of.stops == 0 {
			used := p.host.used(of == p)
			of.now.servers += used.servers
			of.now.generator += used.generator
		}
	}
	if p.host.broken != nil {
		if err := p.host.broken(p.generation, p.side, p.slices); err != nil {
			return 0, 0, err
		}
	}
	return uint64(length / (10 * time.Microsecond)), took, nil
}

func (p *fakeParty) openSlice(_ context.Context, seed uint64, perSecond float64, length time.Duration) error {
	p.host.clock = p.host.clock.Add(length)
	p.open = append(p.open, fmt.Sprintf("%d at %v for %v", seed, perSecond, length))
	return nil
}

// profile counts the cycles between its start and its end.
func (p *fakeParty) profile(_ context.Context, _ []scenario.Capture, mark func() profile.Mark) (recording, error) {
	if p.host.unprofiled != nil {
		return nil, p.host.unprofiled
	}
	return &fakeRecording{mark, mark()}, nil
}

type fakeRecording struct {
	mark func() profile.Mark
	from profile.Mark
}

func (r *fakeRecording) stop(context.Context, string, int, time.Time) (recorded, error) {
	span := profile.Span{From: r.from, To: r.mark()}
	return recorded{covered: []result.Covered{{Of: result.CoveredProfile + "cpu", Cycles: span.Cycles()}}, warnings: []string{"no block profile"}}, nil
}

func (p *fakeParty) failure() error { return p.died }

func (p *fakeParty) finish(context.Context) (finished, error) {
	if p.host.ended != nil {
		p.host.ended(p.generation, p.side, &p.finished)
	}
	return p.finished, nil
}

func (p *fakeParty) stop(context.Context) error {
	p.stops++
	return p.died
}

func newFakeHost() *fakeHost {
	return &fakeHost{
		clock: time.Unix(1_000_000, 0), signals: result.Signals{ForeignCPUPercent: new(5.0)},
		used: func(own bool) clocks {
			if own {
				return clocks{20 * time.Millisecond, 15 * time.Millisecond}
			}
			return clocks{servers: time.Millisecond}
		},
	}
}

// conductor returns a conductor whose processes are fakes of this host.
func (h *fakeHost) conductor(t *testing.T, o Options) *conductor {
	t.Helper()
	o.Out = t.TempDir()
	side := func(name string) Side {
		return Side{Name: name, Servers: []string{"none", "none", "none", "none"}, Generator: "none", Build: result.Build{Commit: name}}
	}
	c, err := newConductor(fakeScenario(), [2]Side{side("base"), side("change")}, o)
	require.NoError(t, err)
	c.duet.Together = false
	c.now = func() time.Time { return h.clock }
	c.start = func(_ context.Context, g *result.Generation, side int) (party, error) {
		if h.refused != nil {
			if err := h.refused(g.Number, side); err != nil {
				return nil, err
			}
		}
		p := &fakeParty{host: h, generation: g.Number, side: side, finished: finished{
			ledger: result.Ledger{Enqueued: 10, Completed: 10}, open: &result.DuetLatency{Arrivals: 10, P50Ms: 1, P99Ms: 3, SlipMsP99: 0.1},
		}}
		h.parties = append(h.parties, p)
		return p, nil
	}
	c.work = func(context.Context) *result.FixedWork { return nil }
	c.signals = func([2]party) func() result.Signals { return func() result.Signals { return h.signals } }
	return c
}

// both returns the parties of a generation in the order of their sides.
func (h *fakeHost) both(t *testing.T, generation int) (of [2]*fakeParty) {
	t.Helper()
	for _, p := range h.parties {
		if p.generation == generation {
			of[p.side] = p
		}
	}
	require.NotNil(t, of[Base])
	require.NotNil(t, of[Change])
	return of
}

func fakeScenario() *scenario.Scenario {
	return &scenario.Scenario{
		Name:     "fake",
		Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Procs: 1},
		Workloads: []scenario.Workload{{
			Name: "main", Driver: "stream", Procs: 1, Producers: 1, Workers: 1, Batch: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		}},
		Validity: scenario.Validity{ForeignCPUPercentMax: new(30.0), SlipMsP99Max: new(1.0)},
	}
}

// measured runs a conductor to its end and returns its output.
func measured(t *testing.T, c *conductor) string {
	t.Helper()
	var progress bytes.Buffer
	c.options.Progress = &progress
	require.NoError(t, c.measure(t.Context()))
	return progress.String()
}

var errBroken = errors.New("the connection broke")
