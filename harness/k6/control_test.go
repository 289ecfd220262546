package k6

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/k6/k6api/k6test"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/scenario"
)

// harness is the other side of a process's control.
type harness struct {
	t       *testing.T
	in      *os.File
	answers *bufio.Reader
	calls   uint64
}

// controlled returns a module under a harness, and the environment of its VUs.
func controlled(t *testing.T, server *server) (*Module, map[string]string, *harness) {
	t.Helper()
	stdin, in, err := os.Pipe()
	require.NoError(t, err)
	answers, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, f := range []*os.File{stdin, in, answers, out} {
			_ = f.Close()
		}
	})
	env := server.env()
	env[k6run.ControlEnv] = fmt.Sprintf("/proc/self/fd/%d", out.Fd())
	module := New()
	module.process.stdin = stdin
	return module, env, &harness{t: t, in: in, answers: bufio.NewReader(answers)}
}

func (h *harness) send(do string, with any) {
	h.t.Helper()
	h.calls++
	text, err := json.Marshal(with)
	require.NoError(h.t, err)
	require.NoError(h.t, json.NewEncoder(h.in).Encode(dialogue.Request{Call: h.calls, Do: do, With: text}))
}

func (h *harness) receive(done any) {
	h.t.Helper()
	line, err := h.answers.ReadBytes('\n')
	require.NoError(h.t, err)
	var a dialogue.Answer
	require.NoError(h.t, json.Unmarshal(line, &a))
	require.Empty(h.t, a.Error)
	require.Equal(h.t, h.calls, a.Call)
	if done != nil {
		require.NoError(h.t, json.Unmarshal(a.Done, done))
	}
}

func aPlan() k6run.Plan {
	return k6run.Plan{
		Round: 1<<63 + 7,
		Workload: scenario.Workload{
			Name: "main", Driver: "k6", Tenants: 2, FirstTenant: 3, Queues: 4, Producers: 5, Workers: 6, Batch: 16,
			Payload:  scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
			Arrivals: scenario.Arrivals{Kind: scenario.Closed}, InFlight: 100, Lease: time.Minute,
		},
		Phases: scenario.Phases{Window: time.Hour, Drain: 30 * time.Second},
	}
}

// The harness sends the plan and the begin, and receives the progress and the outcome.
func TestAHarnessControlsTheLoad(t *testing.T) {
	module, env, h := controlled(t, startServer(t))
	h.send(dialogue.CommandHello, map[string]int{"version": k6run.Version})
	h.send(k6run.CommandReady, aPlan())
	vu := read(t, module, env, `const c = queue.connect(), l = queue.load({batch: 3, window: '1s'});`)
	want := aPlan()
	assert.Equal(t, &want, module.process.plan)
	h.calls = 1
	h.receive(nil)
	h.calls = 2
	vu.Run()
	at := time.Now().Add(10 * time.Millisecond)
	went := make(chan struct{})
	go func() {
		defer close(went)
		vu.must(`
			if (l.batch !== 16 || l.tenants.join() !== 't3,t4') throw new Error(JSON.stringify(l));
			await c.produce({queue: 'q0', size: 64, due: await l.next(2)});`)
	}()
	h.receive(nil)
	h.send(k6run.CommandBegin, k6run.Begin{UnixNS: at.UnixNano()})
	h.receive(nil)
	<-went
	var r k6run.Report
	h.send(k6run.CommandReport, nil)
	h.receive(&r)
	assert.Nil(t, r.Outcome)
	assert.EqualValues(t, 2, r.Progress.Sent)
	assert.Positive(t, r.Progress.Elapsed)

	h.send(k6run.CommandReport, nil)
	ended := make(chan error, 1)
	go func() { ended <- module.process.finish() }()
	for r = (k6run.Report{}); ; h.send(k6run.CommandReport, nil) {
		if h.receive(&r); r.Outcome != nil {
			break
		}
	}
	require.NoError(t, <-ended)
	assert.EqualValues(t, 2, r.Outcome.Ledger.Enqueued)
	got, err := r.Outcome.Load(at, aPlan().Phases)
	require.NoError(t, err)
	assert.EqualValues(t, 2, got.EnqueueLatency.TotalCount())
}

// Without the harness's other end, the extension cannot be used.
func TestAHarnessThatIsGone(t *testing.T) {
	server := startServer(t)
	load := `queue.load({window: '1s'})`
	texts := golden.Cases(t, "testdata/gone.golden")
	for name, before := range map[string]func(h *harness){
		"it sends nothing": func(*harness) {},
		"another version": func(h *harness) {
			h.send(dialogue.CommandHello, map[string]int{"version": k6run.Version + 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			module, env, h := controlled(t, server)
			before(h)
			require.NoError(t, h.in.Close())
			texts.Equal(t, name, read(t, module, env, ``).fails(load))
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		env := server.env()
		env[k6run.ControlEnv] = "/none"
		texts.Equal(t, "nobody listens", read(t, New(), env, ``).fails(load))
	})
	t.Run("it does not begin", func(t *testing.T) {
		module, env, h := controlled(t, server)
		h.send(k6run.CommandReady, aPlan())
		vu := read(t, module, env, `const c = queue.connect();`)
		require.NoError(t, h.in.Close())
		vu.RunAs(1, k6test.Segment(t, "0:1"))
		texts.Equal(t, "it does not begin", vu.fails(`await c.produce({queue: 'q0', size: 64});`))
	})
}
