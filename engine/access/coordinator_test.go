package access

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// simNode is a node of a simulated cluster, with its registry.
type simNode struct {
	name     string
	registry *Registry
	covered  []int
	version  uint64
	pending  *Report // the report whose answer the node awaits
	late     *Report // a report that may still arrive, but whose answer the node no longer awaits
	sentMs   int64
	heardMs  int64 // the time of the last report that was answered
}

// simulation is a cluster with lost and late messages, moving shards, and dying nodes.
type simulation struct {
	t             *rapid.T
	quotas        map[string]Quotas
	nowMs         int64
	seq           uint64
	epoch         uint64
	nodes         []*simNode
	leads         []int      // by shard: its leader, or -1
	held          [][3]int64 // by shard: tasks, bytes, leases
	current       *Coordinator
	former        *Coordinator // answers reports until formerUntilMs
	formerUntilMs int64
}

const simTenant = "t"

func newSimulation(t *rapid.T) *simulation {
	s := &simulation{t: t, quotas: map[string]Quotas{simTenant: {
		TasksMax: uint64(rapid.IntRange(1, 40).Draw(t, "tasks max")), BytesMax: uint64(rapid.IntRange(0, 400).Draw(t, "bytes max")),
		LeasesMax: uint64(rapid.IntRange(0, 9).Draw(t, "leases max")), EnqueuesPerSMax: uint64(rapid.IntRange(0, 50).Draw(t, "rate")),
	}}}
	for i := range 3 {
		s.nodes = append(s.nodes, s.start(string(rune('a'+i))))
	}
	for i := range 4 {
		s.held = append(s.held, [3]int64{})
		s.leads = append(s.leads, -1)
		s.lead(i, i%3)
	}
	s.coordinate()
	return s
}

func (s *simulation) start(name string) *simNode {
	n := &simNode{name: name, heardMs: s.nowMs}
	n.registry = New(Options{Shared: true, Now: func() time.Time { return time.UnixMilli(s.nowMs) }})
	n.registry.current.Store(&snapshot{quotas: s.quotas})
	n.registry.setQuotas(simTenant, s.quotas[simTenant])
	return n
}

func (s *simulation) coordinate() {
	s.former, s.formerUntilMs = s.current, s.nowMs+1_000
	s.epoch++
	s.current = NewCoordinator(s.epoch, len(s.leads), s.nowMs)
}

// lead makes a node recover a shard, as a queue.State does.
func (s *simulation) lead(shard, node int) {
	n, h := s.nodes[node], s.held[shard]
	n.registry.Account(simTenant).Restore(h[0], h[1], h[2])
	n.covered = append(n.covered, shard)
	n.version++
	s.leads[shard] = node
}

func (s *simulation) lose(shard int) {
	if s.leads[shard] < 0 {
		return
	}
	n, h := s.nodes[s.leads[shard]], s.held[shard]
	n.version++
	n.covered = slices.DeleteFunc(n.covered, func(i int) bool { return i == shard })
	n.registry.Account(simTenant).Restore(-h[0], -h[1], -h[2])
	s.leads[shard] = -1
}

func (s *simulation) report(n *simNode) {
	s.seq++
	r := n.registry.Report(n.name, s.seq, func() ([]int, uint64) { return slices.Clone(n.covered), n.version })
	n.pending, n.sentMs = &r, s.nowMs
}

func (s *simulation) deliver(n *simNode, to *Coordinator, lost bool) {
	if n.pending == nil || to == nil {
		return
	}
	answer, err := to.Report(s.nowMs, []string{"a", "b", "c"}, s.quotas, *n.pending)
	switch {
	case err != nil && !errors.Is(err, ErrDeposed) && !errors.Is(err, ErrLateReport):
		s.t.Fatalf("report: %v", err)
	case err == nil && !lost:
		n.registry.Apply(answer)
		n.heardMs = n.sentMs
	}
	n.pending = nil
}

func (s *simulation) pass(ms int64) {
	s.nowMs += ms
	for _, n := range s.nodes {
		if s.nowMs-n.heardMs > shareExpiryMs {
			n.registry.Expire()
		}
	}
}

func (s *simulation) use(shard int, more bool) {
	if s.leads[shard] < 0 {
		return
	}
	a, h := s.nodes[s.leads[shard]].registry.Account(simTenant), &s.held[shard]
	switch bytes := int64(rapid.IntRange(0, 30).Draw(s.t, "bytes")); {
	case more && a.Add(bytes) == nil:
		h[0]++
		h[1] += bytes
		if a.Lease(1) == 1 {
			h[2]++
		}
	case !more && h[0] > 0:
		bytes = h[1] / h[0]
		a.Remove(1, bytes)
		h[0]--
		h[1] -= bytes
		if h[2] > 0 {
			a.EndLeases(1)
			h[2]--
		}
	}
}

// check checks that all nodes together never exceed the quotas.
func (s *simulation) check(t *rapid.T) {
	var sum [3]int64
	for _, h := range s.held {
		for kind := range h {
			sum[kind] += h[kind]
		}
	}
	q := s.quotas[simTenant]
	for kind, most := range q.shared() {
		limits := int64(0)
		for _, n := range s.nodes {
			limits += n.registry.openAccountLocked(simTenant).limits[kind].Load()
		}
		if kind == kindEnqueues {
			if most > 0 && limits > int64(most) {
				t.Fatalf("nodes may enqueue %d per second, and the quota is %d", limits, most)
			}
		} else if most > 0 && sum[kind] > int64(most) {
			t.Fatalf("shards use %d of kind %d, and the quota is %d", sum[kind], kind, most)
		}
	}
}

// settle brings the cluster to a steady state in which all nodes want more, and checks that the
// whole quota is usable.
func (s *simulation) settle() {
	for shard := range s.leads {
		if s.leads[shard] < 0 {
			s.lead(shard, shard%3)
		}
	}
	s.pass(silenceMs + 1)
	s.former = nil
	only := rapid.IntRange(0, len(s.leads)-1).Draw(s.t, "the only shard that gets tasks")
	for range 40 {
		for range 60 {
			a, h := s.nodes[s.leads[only]].registry.Account(simTenant), &s.held[only]
			if a.Add(0) == nil {
				h[0]++
			}
		}
		for _, n := range s.nodes {
			_ = n.registry.TakeEnqueues(simTenant, 7)
			n.pending = nil
			s.report(n)
			s.deliver(n, s.current, false)
		}
		s.check(s.t)
		s.pass(200)
	}
	tasks, rate := int64(0), int64(0)
	for shard := range s.held {
		tasks += s.held[shard][0]
	}
	q := s.quotas[simTenant]
	if q.BytesMax == 0 && tasks != int64(q.TasksMax) {
		s.t.Fatalf("%d tasks are stored, and the quota is %d", tasks, q.TasksMax)
	}
	for _, n := range s.nodes {
		rate += n.registry.openAccountLocked(simTenant).limits[kindEnqueues].Load()
	}
	if least := int64(q.EnqueuesPerSMax) * 3 / 4; rate < least {
		s.t.Fatalf("nodes may enqueue %d per second, and the quota is %d", rate, q.EnqueuesPerSMax)
	}
}

// All nodes together never exceed the quotas while messages are lost, nodes die and leaders change.
// Afterwards, each whole quota is usable.
func TestSharedQuotasHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSimulation(t)
		node := func() *simNode { return s.nodes[rapid.IntRange(0, 2).Draw(t, "node")] }
		shard := func() int { return rapid.IntRange(0, len(s.leads)-1).Draw(t, "shard") }
		t.Repeat(map[string]func(*rapid.T){
			"":        s.check,
			"enqueue": func(*rapid.T) { s.use(shard(), true) },
			"enqueue many": func(*rapid.T) {
				for i := shard(); rapid.IntRange(0, 15).Draw(t, "more") > 0; {
					s.use(i, true)
				}
			},
			"complete": func(*rapid.T) { s.use(shard(), false) },
			"rate":     func(*rapid.T) { _ = node().registry.TakeEnqueues(simTenant, rapid.IntRange(1, 60).Draw(t, "n")) },
			"report": func(*rapid.T) {
				if n := node(); n.pending == nil {
					s.report(n)
				}
			},
			"deliver":     func(*rapid.T) { s.deliver(node(), s.current, false) },
			"lose answer": func(*rapid.T) { s.deliver(node(), s.current, true) },
			"lose report": func(*rapid.T) {
				if n := node(); n.pending != nil {
					n.late, n.pending = n.pending, nil
				}
			},
			"late report": func(*rapid.T) { // the node no longer awaits its answer
				if n := node(); n.late != nil {
					_, _ = s.current.Report(s.nowMs, []string{"a", "b", "c"}, s.quotas, *n.late)
					n.late = nil
				}
			},
			// A former leader may answer until it notices that it lost shard 0.
			"ask former": func(*rapid.T) {
				for range 4 {
					if n := node(); s.nowMs < s.formerUntilMs {
						if n.pending == nil {
							s.report(n)
						}
						s.deliver(n, s.former, false)
					}
				}
			},
			"exchange": func(*rapid.T) {
				for _, n := range s.nodes {
					s.report(n)
					s.deliver(n, s.current, false)
				}
			},
			"move": func(*rapid.T) {
				i := shard()
				s.lose(i)
				if rapid.Bool().Draw(t, "at once") {
					s.lead(i, rapid.IntRange(0, 2).Draw(t, "to"))
				}
			},
			"recover": func(*rapid.T) {
				if i := shard(); s.leads[i] < 0 {
					s.lead(i, rapid.IntRange(0, 2).Draw(t, "to"))
				}
			},
			"coordinator": func(*rapid.T) {
				s.coordinate()
				if rapid.Bool().Draw(t, "gets reports") {
					for _, n := range s.nodes {
						s.report(n)
						s.deliver(n, s.current, false)
					}
				}
			},
			"die": func(*rapid.T) { // and restart; until then its shards have no leader
				k := rapid.IntRange(0, 2).Draw(t, "node")
				for i, by := range s.leads {
					if by == k {
						s.leads[i] = -1
					}
				}
				s.nodes[k] = s.start(s.nodes[k].name)
			},
			"time": func(*rapid.T) {
				s.pass(rapid.SampledFrom([]int64{10, 500, 1_500, shareExpiryMs, silenceMs}).Draw(t, "ms"))
			},
		})
		s.settle()
	})
}

// A late report does not include the grants that its node got since. The coordinator refuses a
// report that arrives after a later one of the same node.
func TestLateReportChangesNothing(t *testing.T) {
	quotas := map[string]Quotas{simTenant: {TasksMax: 10}}
	c := NewCoordinator(1, 1, 0)
	report := func(node string, seq uint64, s Share) (Answer, error) {
		return c.Report(1, []string{"a", "b"}, quotas, Report{Node: node, Seq: seq, Epoch: 1, Shards: []int{0}, Tenants: map[string]Shares{simTenant: {s}}})
	}
	_, err := report("b", 1, Share{})
	require.NoError(t, err)
	answer, err := report("a", 3, Share{Want: 10})
	require.NoError(t, err)
	require.Equal(t, int64(10), answer.Tenants[simTenant][kindTasks].More)
	_, err = report("a", 2, Share{})
	require.ErrorIs(t, err, ErrLateReport)
	answer, err = report("b", 2, Share{Want: 10})
	require.NoError(t, err)
	require.Zero(t, answer.Tenants[simTenant][kindTasks].More)
}

// A report of b is delayed until a new coordinator gets it. It lacks the limit that the former
// coordinator has raised since, so the new one raises no limit before b reports again.
func TestReportDelayedToANewCoordinatorIsNotTrusted(t *testing.T) {
	quotas := map[string]Quotas{simTenant: {TasksMax: 10}}
	c := NewCoordinator(2, 1, 0)
	report := func(node string, seq, epoch uint64, s Share) int64 {
		answer, err := c.Report(1, []string{"a", "b"}, quotas, Report{Node: node, Seq: seq, Epoch: epoch, Shards: []int{0}, Tenants: map[string]Shares{simTenant: {s}}})
		require.NoError(t, err)
		return answer.Tenants[simTenant][kindTasks].More
	}
	require.Zero(t, report("b", 1, 1, Share{}))
	require.Zero(t, report("a", 2, 1, Share{Want: 10}))
	require.Zero(t, report("a", 3, 2, Share{Want: 10}))
	ofB := report("b", 4, 2, Share{Limit: 6, Used: 6})
	require.Equal(t, int64(4), ofB+report("a", 5, 2, Share{Want: 10}))
}

// A node reports at once to a new coordinator, which raises no limit before, and not at once after
// further answers.
func TestANewCoordinatorIsReportedToAtOnce(t *testing.T) {
	r := New(Options{Shared: true})
	r.Apply(Answer{Epoch: 1})
	require.Len(t, r.Lacking(), 1)
	<-r.Lacking()
	r.Apply(Answer{Epoch: 1})
	require.Empty(t, r.Lacking())
}

// A node returns enqueues that another node executes.
func TestEnqueuesOfAnotherNodeAreGivenBack(t *testing.T) {
	now := time.UnixMilli(0)
	r := New(Options{Now: func() time.Time { return now }})
	r.setQuotas(simTenant, Quotas{EnqueuesPerSMax: 10})
	for range 5 {
		require.NoError(t, r.TakeEnqueues(simTenant, 10))
		require.Error(t, r.TakeEnqueues(simTenant, 1))
		r.ReturnEnqueues(simTenant, 10)
	}
	require.NoError(t, r.TakeEnqueues(simTenant, 4))
	r.ReturnEnqueues(simTenant, 3)
	require.NoError(t, r.TakeEnqueues(simTenant, 9))
	require.Error(t, r.TakeEnqueues(simTenant, 1))
}

// Raising a rate does not change the number of enqueues that a tenant has saved.
func TestRaisedRateSavesNoMore(t *testing.T) {
	now := time.UnixMilli(0)
	r := New(Options{Shared: true, Now: func() time.Time { return now }})
	r.setQuotas(simTenant, Quotas{EnqueuesPerSMax: 1_000})
	a := r.openAccountLocked(simTenant)
	a.raise(kindEnqueues, 10, 0)
	require.Error(t, r.TakeEnqueues(simTenant, 1), "no enqueues are saved yet")
	now = now.Add(time.Second)
	a.raise(kindEnqueues, 90, r.elapsed())
	took := 0
	for r.TakeEnqueues(simTenant, 1) == nil {
		took++
	}
	require.InDelta(t, 10, took, 1)
}

// A shard moves from a to b to c. Until c reports, the coordinator grants nothing: the old report
// of a, which is now silent, does not cover the shard's usage.
func TestShardThatMovedTwiceIsWaitedFor(t *testing.T) {
	quotas := map[string]Quotas{simTenant: {TasksMax: 10}}
	c := NewCoordinator(1, 1, 0)
	seq := uint64(0)
	report := func(node string, s Share, shards ...int) int64 {
		seq++
		answer, err := c.Report(1, []string{"a", "b", "c"}, quotas, Report{Node: node, Seq: seq, Epoch: 1, Shards: shards, Tenants: map[string]Shares{simTenant: {s}}})
		require.NoError(t, err)
		return answer.Tenants[simTenant][kindTasks].More
	}
	report("b", Share{})
	report("c", Share{})
	of := report("a", Share{}, 0) // the last report of a
	rest := report("b", Share{Want: 10}, 0)
	require.Equal(t, int64(10), of+rest)
	require.Zero(t, report("b", Share{}), "the shard moved to c with all tasks")
	require.Zero(t, report("b", Share{Want: 10}))
	require.Zero(t, report("c", Share{Limit: rest, Used: rest}, 0))
	require.Zero(t, report("b", Share{Want: 10}))
}
