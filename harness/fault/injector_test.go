package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/harness/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pair struct{ from, to string }

// fake is a cluster that records the calls on it.
type fake struct {
	mu     sync.Mutex
	nodes  []string
	leader func() (string, error)
	done   []string
	fail   map[string]error             // errors by call
	on     func(what string)            // called with each call
	links  map[pair]netproxy.Conditions // only links with faults
}

func newFake() *fake {
	return &fake{
		nodes: []string{"n1", "n2", "n3"}, leader: func() (string, error) { return "n2", nil },
		links: map[pair]netproxy.Conditions{}, fail: map[string]error{},
	}
}

func (f *fake) note(what, node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	what += " " + node
	f.done = append(f.done, what)
	if f.on != nil {
		f.on(what)
	}
	return f.fail[what]
}

func (f *fake) Nodes() []string                          { return f.nodes }
func (f *fake) Leader(context.Context) (string, error)   { return f.leader() }
func (f *fake) Kill(n string) error                      { return f.note("kill", n) }
func (f *fake) Stop(_ context.Context, n string) error   { return f.note("stop", n) }
func (f *fake) Start(_ context.Context, n string) error  { return f.note("start", n) }
func (f *fake) WaitReady(context.Context, string) error  { return f.fail["ready"] }
func (f *fake) Wipe(n string) error                      { return f.note("wipe", n) }
func (f *fake) Pause(n string) error                     { return f.note("pause", n) }
func (f *fake) Resume(n string) error                    { return f.note("resume", n) }
func (f *fake) Remove(_ context.Context, n string) error { return f.note("remove", n) }
func (f *fake) Add(_ context.Context, n string) error    { return f.note("add", n) }
func (f *fake) Set(from, to string, now netproxy.Conditions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now == (netproxy.Conditions{}) {
		delete(f.links, pair{from, to})
	} else {
		f.links[pair{from, to}] = now
	}
	if f.on != nil {
		f.on("links")
	}
}

func plan(faults ...scenario.Fault) Plan {
	for i := range faults {
		if faults[i].Times == 0 {
			faults[i].Times = 1
		}
	}
	return Plan{Faults: faults, Window: 2 * time.Hour, Began: time.Now()}
}

func target(kind string) scenario.Target { return scenario.Target{Kind: kind} }

func TestEachKindOfFaultIsDoneAndUndone(t *testing.T) {
	for kind, want := range map[string][]string{
		scenario.FaultKill:       {"kill n2", "start n2"},
		scenario.FaultRestart:    {"stop n2", "start n2"},
		scenario.FaultWipe:       {"kill n2", "remove n2", "wipe n2", "start n2"},
		scenario.FaultPause:      {"pause n2", "resume n2"},
		scenario.FaultMembership: {"remove n2", "add n2"},
	} {
		f := newFake()
		p := plan(scenario.Fault{Kind: kind, Target: target(scenario.TargetLeader), At: ms, For: 3 * ms})
		events, err := Inject(t.Context(), p, f, nil)
		require.NoError(t, err)
		assert.Equal(t, want, f.done)
		require.Len(t, events, 1)
		e := events[0]
		assert.Equal(t, []string{"n2"}, e.Nodes)
		assert.Equal(t, "n2", e.Leader)
		assert.Equal(t, "leader()", e.Target)
		assert.Equal(t, kind, e.Kind)
		assert.GreaterOrEqual(t, e.Began, ms)
		assert.GreaterOrEqual(t, e.Done, e.Began)
		assert.GreaterOrEqual(t, e.Healed, e.Done+3*ms)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target scenario.Target
		leader string
		want   []string // of three happenings
	}{
		{target(scenario.TargetLeader), "n3", []string{"n3", "n3", "n3"}},
		{target(scenario.TargetFollower), "n3", []string{"n1", "n1", "n1"}},
		{target(scenario.TargetFollower), "n1", []string{"n2", "n2", "n2"}},
		{target(scenario.TargetEach), "n1", []string{"n1", "n2", "n3"}},
		{scenario.Target{Kind: scenario.TargetNode, Node: "n2"}, "n1", []string{"n2", "n2", "n2"}},
		{target(scenario.TargetAll), "n1", []string{"n1 n2 n3", "n1 n2 n3", "n1 n2 n3"}},
	} {
		f := newFake()
		f.leader = func() (string, error) { return c.leader, nil }
		events, err := Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultKill, Target: c.target, Every: ms, Times: 3}), f, nil)
		require.NoError(t, err)
		var got []string
		for _, e := range events {
			got = append(got, strings.Join(e.Nodes, " "))
		}
		assert.Equal(t, c.want, got, c.target)
	}
}

func TestTheLeaderIsWaitedFor(t *testing.T) {
	f := newFake()
	asked := 0
	f.leader = func() (string, error) {
		asked++
		switch asked {
		case 1:
			return "", errors.New("no node answered")
		case 2:
			return "", nil
		}
		return "n3", nil
	}
	events, err := Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetLeader)}), f, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"n3"}, events[0].Nodes)
}

func TestFaultsOfLinks(t *testing.T) {
	drop, reset := netproxy.Conditions{Cut: netproxy.Drop}, netproxy.Conditions{Cut: netproxy.Reset}
	slow := netproxy.Conditions{Delay: 5 * ms, Jitter: ms}
	for _, c := range []struct {
		fault scenario.Fault
		want  map[pair]netproxy.Conditions
	}{
		{
			scenario.Fault{Kind: scenario.FaultPartition, Mode: scenario.Drop, Direction: scenario.DirectionBoth, Target: target(scenario.TargetLeader)},
			map[pair]netproxy.Conditions{{"n2", "n1"}: drop, {"n2", "n3"}: drop, {"n1", "n2"}: drop, {"n3", "n2"}: drop},
		},
		{
			scenario.Fault{Kind: scenario.FaultPartition, Mode: scenario.Reset, Direction: scenario.DirectionIn, Target: target(scenario.TargetLeader)},
			map[pair]netproxy.Conditions{{"n1", "n2"}: reset, {"n3", "n2"}: reset},
		},
		{
			scenario.Fault{Kind: scenario.FaultDelay, Delay: 5 * ms, Jitter: ms, Direction: scenario.DirectionOut, Target: target(scenario.TargetLeader)},
			map[pair]netproxy.Conditions{{"n2", "n1"}: slow, {"n2", "n3"}: slow},
		},
		{
			scenario.Fault{Kind: scenario.FaultBandwidth, BytesPerS: 100, Direction: scenario.DirectionOut, Target: target(scenario.TargetFollower)},
			map[pair]netproxy.Conditions{{"n1", "n2"}: {BytesPerS: 100}, {"n1", "n3"}: {BytesPerS: 100}},
		},
	} {
		f := newFake()
		seen := map[pair]netproxy.Conditions{}
		f.on = func(string) {
			for p, now := range f.links {
				seen[p] = now
			}
		}
		_, err := Inject(t.Context(), plan(c.fault), f, f)
		require.NoError(t, err)
		assert.Equal(t, c.want, seen)
		assert.Empty(t, f.links, "all links are restored at the end")
	}
	_, err := Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultPartition, Target: target(scenario.TargetAll)}), newFake(), nil)
	golden.Cases(t, "testdata/links.golden").Error(t, "no network", err)
}

func TestFaultsOfSeveralBlocksHappenInTheirOrder(t *testing.T) {
	f := newFake()
	node := func(n string) scenario.Target { return scenario.Target{Kind: scenario.TargetNode, Node: n} }
	p := plan(
		scenario.Fault{Kind: scenario.FaultKill, Target: node("n1"), At: 0, Every: 4 * ms, Times: 2},
		scenario.Fault{Kind: scenario.FaultPause, Target: node("n2"), At: 2 * ms, Every: 4 * ms, Times: 2},
	)
	assert.Len(t, p.happenings(), 4)
	events, err := Inject(t.Context(), p, f, nil)
	require.NoError(t, err)
	assert.Len(t, events, 4)
	assert.Equal(t, []string{
		"kill n1", "start n1", "pause n2", "resume n2", "kill n1", "start n1", "pause n2", "resume n2",
	}, f.done)
}

func TestNothingIsLeftPausedOrCut(t *testing.T) {
	for name, end := range map[string]func(*fake, context.CancelFunc){
		"given up":   func(f *fake, cancel context.CancelFunc) { f.on = func(string) { cancel() } },
		"one failed": func(f *fake, _ context.CancelFunc) { f.fail["pause n3"] = errors.New("no such process") },
	} {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		end(f, cancel)
		_, err := Inject(ctx, plan(scenario.Fault{Kind: scenario.FaultPause, Target: target(scenario.TargetAll), For: time.Hour}), f, nil)
		cancel()
		require.ErrorContains(t, err, "fault 1, pause of all()", name)
		for _, node := range f.nodes {
			assert.Contains(t, f.done, "resume "+node, name)
		}
	}
	f := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.on = func(string) { cancel() }
	_, err := Inject(ctx, plan(scenario.Fault{Kind: scenario.FaultPartition, Target: target(scenario.TargetLeader), Direction: scenario.DirectionBoth, For: time.Hour}), f, f)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, f.links)
}

func TestWhatGoesWrongEndsThePlan(t *testing.T) {
	s := golden.Cases(t, "testdata/plans.golden")
	f := newFake()
	f.fail["start n2"] = errors.New("address already in use")
	events, err := Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetLeader), Every: ms, Times: 3}), f, nil)
	s.Error(t, "a node does not start", err)
	assert.Empty(t, events)
	assert.Equal(t, []string{"kill n2", "start n2"}, f.done)

	f = newFake()
	f.fail["ready"] = errors.New("recovering")
	_, err = Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetLeader)}), f, nil)
	s.Error(t, "a node is not ready", err)

	f = newFake()
	_, err = Inject(t.Context(), plan(scenario.Fault{Kind: "earthquake", Target: target(scenario.TargetLeader)}), f, nil)
	s.Error(t, "an unknown kind", err)

	f.nodes = []string{"n2"}
	_, err = Inject(t.Context(), plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetFollower)}), f, nil)
	s.Error(t, "no such node", err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Inject(ctx, plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetLeader), At: time.Hour}), f, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAFaultThatNoLongerFitsInTheWindowDoesNotHappen(t *testing.T) {
	f := newFake()
	p := plan(scenario.Fault{Kind: scenario.FaultKill, Target: target(scenario.TargetLeader), For: 30 * ms, Every: ms, Times: 1000})
	p.Window = 100 * ms
	events, err := Inject(t.Context(), p, f, nil)
	require.ErrorContains(t, err, "does not fit into the window")
	assert.LessOrEqual(t, len(events), 3)
	assert.Len(t, f.done, 2*len(events))
}

func TestErrorsNameTheirNodes(t *testing.T) {
	err := each([]string{"n1", "n2", "n3"}, func(node string) error {
		if node == "n2" {
			return nil
		}
		return fmt.Errorf("%s is out of order", node)
	})
	require.Equal(t, "n1: n1 is out of order\nn3: n3 is out of order", err.Error())
	assert.True(t, slices.IsSorted(strings.Split(err.Error(), "\n")))
}
