package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func aPlan() k6run.Plan {
	return k6run.Plan{
		Version: k6run.Version, Round: 1<<63 + 7,
		Workload: scenario.Workload{
			Name: "main", Driver: "k6", Tenants: 2, FirstTenant: 3, Queues: 4, Producers: 5, Workers: 6, Batch: 16,
			Payload:  scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
			Arrivals: scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 1000}}, InFlight: 100, Lease: time.Minute,
		},
		Phases: scenario.Phases{Warmup: time.Second, Window: 5 * time.Second, Drain: 30 * time.Second},
	}
}

func environment(t *testing.T, plan any) func(string) (string, bool) {
	text, ok := plan.(string)
	if !ok {
		encoded, err := json.Marshal(plan)
		require.NoError(t, err)
		text = string(encoded)
	}
	return func(name string) (string, bool) { return text, name == k6run.PlanEnv }
}

func TestPlanIsReadAsItWasWritten(t *testing.T) {
	want := aPlan()
	got, err := ReadPlan(environment(t, want))
	require.NoError(t, err)
	assert.Equal(t, &want, got)
}

func TestNoPlan(t *testing.T) {
	got, err := ReadPlan(func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	assert.Nil(t, got)
}

func TestPlanThatCannotBeRead(t *testing.T) {
	changed := func(change func(*k6run.Plan)) k6run.Plan {
		p := aPlan()
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		plan any
		says string
	}{
		"not JSON":    {"{", "not valid JSON"},
		"version":     {changed(func(p *k6run.Plan) { p.Version = 9 }), "version 9, but this k6 supports 2: build prony and k6 from the same commit"},
		"no version":  {"{}", "version 0"},
		"newer field": {`{"version": 9, "mood": 1}`, "version 9"},
		"other field": {`{"version": 2, "mood": 1}`, `unknown field "mood"`},
		"type":        {`{"version": 2, "round": "x"}`, "round"},
		"long":        {strings.Repeat(" ", k6run.MessageBytesMax+1), "more than the maximum of 4194304"},
		"tenants":     {changed(func(p *k6run.Plan) { p.Workload.Tenants = 0 }), "workload.tenants is 0, expected at least 1"},
		"payload":     {changed(func(p *k6run.Plan) { p.Workload.Payload.Max = 31 }), "workload.payload is 31, expected at least 32"},
		"window":      {changed(func(p *k6run.Plan) { p.Phases.Window = 0 }), "phases.window is 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPlan(environment(t, c.plan))
			require.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, "PRONY_PLAN")
			assert.ErrorContains(t, err, "unset it", "the remedy")
		})
	}
}

// harness is the harness's end of the socket.
type harness struct {
	net.Conn
	lines *bufio.Reader
}

// connect returns both ends of a connection.
func connect(t *testing.T) (*Conn, *harness) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	conn, err := Dial(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	accepted, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = accepted.Close() })
	return conn, &harness{accepted, bufio.NewReader(accepted)}
}

func (h *harness) say(t *testing.T, text string) {
	_, err := h.Write([]byte(text))
	require.NoError(t, err)
}

func (h *harness) hear(t *testing.T) (m k6run.Message) {
	line, err := h.lines.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &m))
	return m
}

func begin(t *testing.T, at time.Time) string {
	text, err := json.Marshal(k6run.Begin{UnixNS: at.UnixNano()})
	require.NoError(t, err)
	return string(text) + "\n"
}

func TestConversation(t *testing.T) {
	c, h := connect(t)
	at := time.Now().Add(time.Second)
	h.say(t, begin(t, at))
	epoch, err := c.Ready(t.Context())
	require.NoError(t, err)
	assert.Equal(t, &k6run.Ready{Version: k6run.Version}, h.hear(t).Ready)
	assert.InDelta(t, 0, float64(epoch.Sub(at)), float64(100*time.Millisecond))
	assert.NotEqual(t, epoch.Round(0), epoch, "it has a monotonic reading")

	progress := load.Progress{Phase: "window", Elapsed: time.Second, Sent: 7, Completed: 6, Outstanding: 1, CycleP99: time.Millisecond}
	require.NoError(t, c.Progress(progress))
	assert.Equal(t, &progress, h.hear(t).Progress)

	o := &load.Outcome{
		Launched: epoch, Finished: epoch.Add(time.Minute), Cycles: 3,
		EnqueueLatency: result.NewHistogram(), SettleLatency: result.NewHistogram(), CycleLatency: result.NewHistogram(),
		FailedCalls: load.Refusals{Count: 1, First: "broken"},
	}
	require.NoError(t, o.CycleLatency.RecordValue(int64(time.Second)))
	require.NoError(t, c.Outcome(o, result.Ledger{Enqueued: 9, Samples: []string{"a"}}))
	got := h.hear(t).Outcome
	require.NotNil(t, got)
	assert.Equal(t, result.Ledger{Enqueued: 9, Samples: []string{"a"}}, got.Ledger)
	back, err := got.Load(epoch, scenario.Phases{Window: time.Minute})
	require.NoError(t, err)
	assert.Equal(t, o.Finished, back.Finished)
	assert.Equal(t, o.FailedCalls, back.FailedCalls)
	assert.EqualValues(t, 1, back.CycleLatency.TotalCount())

	require.NoError(t, c.Close())
	_, err = h.lines.ReadByte()
	assert.Error(t, err, "the connection has ended")
}

// Messages of several goroutines don't mix.
func TestMessagesAreWhole(t *testing.T) {
	c, h := connect(t)
	const senders, each = 8, 50
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for range each {
				assert.NoError(t, c.Progress(load.Progress{Phase: strings.Repeat("x", 10_000), Sent: uint64(i)}))
			}
		})
	}
	seen := map[uint64]int{}
	for range senders * each {
		p := h.hear(t).Progress
		require.NotNil(t, p)
		require.Len(t, p.Phase, 10_000)
		seen[p.Sent]++
	}
	all.Wait()
	assert.Len(t, seen, senders)
}

func TestHarnessThatDoesNotBegin(t *testing.T) {
	for name, c := range map[string]struct{ said, says string }{
		"garbage":    {"hello\n", `the harness sent "hello`},
		"far away":   {begin(t, time.Now().Add(time.Hour)), "more than 1m0s away"},
		"long ago":   {begin(t, time.Unix(0, 0)), "more than 1m0s away"},
		"cut off":    {`{"unix_ns":`, "EOF"},
		"no newline": {strings.Repeat("x", k6run.MessageBytesMax+1), "more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, h := connect(t)
			var said sync.WaitGroup
			said.Go(func() {
				// This fails if the reader closes before the end of a long message.
				_, _ = h.Write([]byte(c.said))
				_ = h.Conn.(*net.UnixConn).CloseWrite()
			})
			_, err := conn.Ready(t.Context())
			assert.ErrorContains(t, err, c.says)
			require.NoError(t, conn.Close())
			said.Wait()
		})
	}
	t.Run("stopped", func(t *testing.T) {
		conn, h := connect(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var said sync.WaitGroup
		why := errors.New("interrupted")
		said.Go(func() {
			h.hear(t)
			cancel(why)
		})
		_, err := conn.Ready(ctx)
		assert.ErrorIs(t, err, why)
		said.Wait()
	})
}

// Ready fails if the harness sends nothing. The timeout runs in a synctest bubble.
func TestReadyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() { _, _ = bufio.NewReader(theirs).ReadBytes('\n') }()
		start := time.Now()
		_, err := (&Conn{socket: ours}).Ready(t.Context())
		assert.ErrorContains(t, err, "up to 1m0s")
		assert.Equal(t, beginWithin, time.Since(start))
		assert.NoError(t, errors.Join(ours.Close(), theirs.Close()))
	})
}

// Sending fails if the harness does not read.
func TestSendIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		start := time.Now()
		assert.ErrorContains(t, (&Conn{socket: ours}).Progress(load.Progress{}), "send to the harness")
		assert.Equal(t, sendWithin, time.Since(start))
		assert.NoError(t, errors.Join(ours.Close(), theirs.Close()))
	})
}

func TestMessageThatIsTooLong(t *testing.T) {
	c, _ := connect(t)
	assert.ErrorContains(t, c.Progress(load.Progress{Phase: strings.Repeat("x", k6run.MessageBytesMax)}), "more than 4194304")
}

func TestNobodyListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := Dial(t.Context(), path)
	require.ErrorContains(t, err, path)
	assert.ErrorContains(t, err, "PRONY_CONTROL")
}
