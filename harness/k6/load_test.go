package k6

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/k6/k6api/k6test"
	"github.com/pronybench/prony/harness/scenario"
)

func TestALoadSaysWhatIsToBeSent(t *testing.T) {
	server := startServer(t)
	for name, arrivals := range map[string]string{"closed": `'closed'`, "open": `{rate: 200}`} {
		t.Run(name, func(t *testing.T) {
			s := run(t, server.env(), `
				const c = queue.connect(), p = c.producer(), w = c.worker({queues: ['q0'], slots: 16});
				const l = queue.load({batch: 4, size: 40, window: '100ms', drain: '10s', inFlight: 16, arrivals: `+arrivals+`});`)
			s.must(`
				if (l.batch !== 4 || l.size !== 40 || l.queues.join() !== 'q0' || l.tenants.join() !== 't0' || l.sending !== '100ms' || l.whole !== '10100ms') throw new Error(JSON.stringify(l));
				if (l.done()) throw new Error('done too early');
				const work = async () => { while (!l.done()) { const tasks = await w.claim({max: 4, wait: 10}); if (tasks.length) await w.complete(tasks); } };
				const send = async () => { for (let due; (due = await l.next()) !== null;) { await p.produce({queue: l.queues[0], size: l.size, due}); } };
				await Promise.all([send(), work()]);
				if (await l.next() !== null) throw new Error('it goes on');`)
			b := s.must(`return queue.balance()`).(map[string]any)
			assert.Positive(t, b["completed"])
			assert.EqualValues(t, 0, b["outstanding"])
			outcome := s.module.process.meter.Outcome()
			assert.True(t, outcome.Drained)
			assert.Equal(t, name == "open", outcome.Open != nil)
			if outcome.Open != nil {
				assert.EqualValues(t, 20, outcome.Open.Scheduled)
			}
		})
	}
}

func TestADueIsSentOnce(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect(); const l = queue.load({batch: 3, window: '1m'});`)
	texts := golden.Cases(t, "testdata/dues.golden")
	s.must(`
		globalThis.due = await l.next();
		if (due.length !== 3) throw new Error(due.length);
		await c.produce({queue: 'q', size: 64, count: 2, due});`)
	texts.Equal(t, "too many", s.fails(`await c.produce({queue: 'q', size: 64, count: 2, due})`))
	s.must(`await c.produce({queue: 'q', size: 64, due})`)
	texts.Equal(t, "sent already", s.fails(`await c.produce({queue: 'q', size: 64, due})`))
	texts.Equal(t, "none", s.fails(`await l.next(0)`))
}

func TestAProcessHasOneLoad(t *testing.T) {
	module := New()
	first := read(t, module, nil, `const l = queue.load({window: '1s', arrivals: {rate: 5}});`)
	again := k6test.NewVU(t, module, nil)
	_, err := again.VU.Runtime().RunString(`queue.load({window: '1s', arrivals: {rate: 5}})`)
	require.NoError(t, err, "all VUs pass the same options")
	_, err = again.VU.Runtime().RunString(`queue.load({window: '2s'})`)
	require.ErrorContains(t, err, "prony: load: it was already called with other options")
	require.NotNil(t, first.module.process.wanted)
	assert.Equal(t, scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 5}}, first.module.process.wanted.workload.Arrivals)
}

func TestArrivalsAreRead(t *testing.T) {
	for text, want := range map[string]scenario.Arrivals{
		`'closed'`:                       {Kind: scenario.Closed},
		`{rate: 100}`:                    {Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}},
		`{from: 10, to: 20, over: '1s'}`: {Kind: scenario.Ramp, Rate: scenario.Rate{PerSecond: 10}, To: scenario.Rate{PerSecond: 20}, Over: time.Second},
		`{rate: 1, burst: 9, every: 20, length: 5}`: {Kind: scenario.Burst, Rate: scenario.Rate{PerSecond: 1}, To: scenario.Rate{PerSecond: 9}, Every: 20 * time.Millisecond, Over: 5 * time.Millisecond},
	} {
		s := read(t, New(), nil, `queue.load({window: '1s', arrivals: `+text+`});`)
		assert.Equal(t, want, s.module.process.wanted.workload.Arrivals, text)
	}
	s := read(t, New(), nil, ``)
	texts := golden.Cases(t, "testdata/arrivals.golden")
	for _, text := range []string{
		`'open'`,
		`{}`,
		`{rate: 1, to: 3}`,
		`{from: 1, over: '1s'}`,
		`{rate: 1, burst: 2, every: 5, length: 5}`,
		`{rate: -1}`,
		`{rat: 1}`,
	} {
		texts.Equal(t, text, s.fails(`queue.load({window: '1s', arrivals: `+text+`})`))
	}
	texts.Equal(t, "no window", s.fails(`queue.load({})`))
	texts.Equal(t, "no batch", s.fails(`queue.load({window: '1s', batch: 0})`))
}

// The load begins with the first call of a VU, after setup, and has its host's share of the rate.
func TestALoadBeginsWithTheFirstVU(t *testing.T) {
	server := startServer(t)
	module := New()
	init := `const c = queue.connect(), l = queue.load({window: '1h', arrivals: {rate: 400}});`
	setup := read(t, module, server.env(), init)
	setup.RunAs(0, k6test.Segment(t, "0:1/4"))
	setup.must(`await c.produce({queue: 'q', size: 64}); await c.complete(await c.claim({queue: 'q'}));`)
	assert.Zero(t, module.process.meter.Progress().Elapsed)
	golden.Cases(t, "testdata/setup.golden").Equal(t, "next", setup.fails(`await l.next()`))
	vu := read(t, module, server.env(), init)
	vu.RunAs(1, k6test.Segment(t, "0:1/4"))
	vu.must(`const due = await l.next(); if (due.length !== 1) throw new Error(due.length);`)
	assert.Positive(t, module.process.meter.Progress().Elapsed)
	require.NoError(t, module.process.finish())
	outcome := module.process.meter.Outcome()
	assert.InDelta(t, 100, outcome.Open.PerSecond, 1e-9)
	assert.Zero(t, outcome.Cycles, "completions of setup are not in the window")
	assert.EqualValues(t, 1, module.process.account.Balance().Completed)
}

func TestLoadHostsHaveNames(t *testing.T) {
	for name, c := range map[string]struct {
		env     map[string]string
		segment string
	}{
		"i0":       {},
		"i0:1/2":   {segment: "0:1/2"},
		"eu-west":  {env: map[string]string{instanceEnv: "eu-west"}, segment: "1/2:1"},
		"i1/3:2/3": {segment: "1/3:2/3"},
	} {
		s := read(t, New(), c.env, ``)
		if c.segment == "" {
			s.Run()
		} else {
			s.RunAs(1, k6test.Segment(t, c.segment))
		}
		assert.Equal(t, name, s.must(`return queue.instance()`))
	}
}

// A script that retries immediately is delayed a little longer each time, at most failMax.
func TestFailuresAreToldWithPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session[closable]{dial: func(*client.Client) (closable, error) { return nil, assert.AnError }}
		var last time.Duration
		for range 10 {
			started := time.Now()
			require.ErrorIs(t, s.use(t.Context(), nil, nil), assert.AnError)
			took := time.Since(started)
			assert.GreaterOrEqual(t, took, last)
			last = took
		}
		assert.Equal(t, failMax, last)
		require.NoError(t, s.Close(t.Context()))
		started := time.Now()
		require.ErrorIs(t, s.use(t.Context(), nil, nil), errSessionClosed)
		assert.Zero(t, time.Since(started))
	})
}
