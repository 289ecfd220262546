package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// manyRecurring are recurring tasks whose due times a test compares with the stored tasks. Their
// names are unique in all queues.
type manyRecurring struct {
	specs   map[string]queue.RecurringSpec
	queueOf map[string]string
	fromMs  int64
}

func newManyRecurring(n int, fromMs int64) *manyRecurring {
	m := &manyRecurring{specs: map[string]queue.RecurringSpec{}, queueOf: map[string]string{}, fromMs: fromMs}
	for i := range n {
		name := fmt.Sprint("r", i)
		s := everyMs(20_000 + 7*uint64(i%1_000))
		s.Missed, s.MissedMax = queue.MissedAll, 1_000
		s.Schedule.JitterMs = uint64(i%3) * 4_000
		if i%5 == 0 {
			s.Schedule.EveryMs, s.Schedule.Cron, s.Schedule.Zone = 0, "* * * * *", "Europe/Berlin"
		}
		m.specs[name], m.queueOf[name] = s, fmt.Sprint("q", i%8)
	}
	return m
}

// started calls visit with each due time whose run must have started by nowMs.
func (m *manyRecurring) started(t *testing.T, nowMs int64, visit func(name string, dueMs int64)) {
	for name, spec := range m.specs {
		s, bad := spec.Schedule.Parse()
		require.Nil(t, bad)
		for due := s.Next(m.fromMs); s.StartMs(name, due) <= nowMs; due = s.Next(due) {
			visit(name, due)
		}
	}
}

// check requires that the stores have one task for each due time that has started.
func (m *manyRecurring) check(t *testing.T, stores []*storage.Store, nowMs int64) {
	t.Helper()
	type run struct {
		name  string
		dueMs int64
	}
	found := map[run]bool{}
	for _, s := range stores {
		snap := s.Snapshot()
		err := snap.Scan([]byte{record.PrefixTask}, func(_, v []byte) (bool, error) {
			task, err := record.DecodeTask(v)
			require.NoError(t, err)
			headers, _ := task.Split()
			due, err := strconv.ParseInt(headers.Get(queue.RecurringDueHeader), 10, 64)
			require.NoError(t, err)
			r := run{headers.Get(queue.RecurringHeader), due}
			require.False(t, found[r], "%s ran twice at %d", r.name, due)
			found[r] = true
			return true, nil
		})
		require.NoError(t, err)
		require.NoError(t, snap.Close())
	}
	expected := 0
	m.started(t, nowMs, func(name string, due int64) {
		expected++
		require.True(t, found[run{name, due}], "%s did not run at %d", name, due)
	})
	require.Len(t, found, expected)
	require.Greater(t, expected, len(m.specs))
}

// caughtUp runs turns until all due times that have started are settled.
func caughtUp(t *testing.T, g *Group, nowMs int64) {
	t.Helper()
	l := RecurringList{Tenant: tenant, Limit: 1_000}
	for {
		page, err := g.ListRecurring(context.Background(), l)
		require.NoError(t, err)
		behind := false
		for i := range page {
			s, _ := page[i].Spec.Schedule.Parse()
			behind = behind || s.StartMs(page[i].Name, s.Next(page[i].Progress.AfterMs)) <= nowMs
		}
		switch {
		case behind: // the next command lets the shard continue
		case len(page) < l.Limit:
			return
		default:
			last := &page[len(page)-1]
			l.AfterQueue, l.AfterName = last.QueueName, last.Name
		}
	}
}

// Each due time becomes one task, although the power fails again and again.
func TestEachDueTimeRunsOnceAcrossPowerLosses(t *testing.T) {
	n, losses := longtest.Count(t, 200, 10_000), longtest.Count(t, 8, 50)
	rng := rand.New(rand.NewPCG(1, 2))
	disk := vfs.NewCrashableMem()
	nowMs := int64(1_000)
	m := newManyRecurring(n, nowMs)
	options := func(_ int, o *Options) { o.Queue.RecurringPerTenant = n }
	f := startGroup(t, disk, 2, options)
	for name, spec := range m.specs {
		_, err := f.SetRecurring(context.Background(), tenant, m.queueOf[name], name, spec)
		require.NoError(t, err)
	}
	for range losses {
		for range 1 + rng.IntN(4) {
			nowMs += 1_000 * rng.Int64N(10)
			f.nowMs.Store(nowMs)
			f.ClockMoved()
			f.stats()
		}
		crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		f.stop()
		disk = crashed
		f = startGroupAt(t, disk, 2, nowMs, options)
	}
	nowMs += 130_000
	f.nowMs.Store(nowMs)
	f.ClockMoved()
	caughtUp(t, f.Group, nowMs)
	m.check(t, f.stores, nowMs)
	f.stop()
}

// leaderLog is the log of a leader that is killed after some proposals. The other nodes get further
// entries, of whose success the leader does not learn; later ones are lost.
type leaderLog struct {
	storage.Log
	store *storage.Store
	term  uint64

	mu      sync.Mutex
	entries *[]storage.LogEntry // shared by all nodes
	left    int                 // number of proposals before the kill
	unknown int                 // number of proposals after the kill that the other nodes get
}

func (l *leaderLog) Propose(entry []byte) storage.Proposal {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &fakeProposal{done: make(chan struct{})}
	if l.left > 0 {
		l.left--
		p.answer(l.appendLocked(entry, true))
		return p
	}
	if l.unknown > 0 {
		l.unknown--
		_ = l.appendLocked(entry, false) // it only fails when it applies the entry
	}
	p.answer(ErrUnknownOutcome)
	return p
}

func (l *leaderLog) appendLocked(entry []byte, apply bool) error {
	e := storage.LogEntry{Index: uint64(len(*l.entries)) + 1, Term: l.term, Data: entry}
	*l.entries = append(*l.entries, e)
	if !apply {
		return nil
	}
	_, err := l.store.Apply([]storage.LogEntry{e})
	return err
}

func (*leaderLog) Verify() storage.Proposal {
	p := &fakeProposal{done: make(chan struct{})}
	p.answer(nil)
	return p
}

// leadFrom makes the node with a store the leader of a term: see leaderLog. It first applies all
// entries.
func leadFrom(
	t *testing.T, store *storage.Store, entries *[]storage.LogEntry, nowMs func() int64, cfg queue.Config, term uint64, left, unknown int,
) (*Group, *storage.Store) {
	t.Helper()
	log := &leaderLog{store: store, term: term, entries: entries, left: left, unknown: unknown}
	_, err := store.Apply(*entries)
	require.NoError(t, err)
	tenure := storage.Tenure{Term: term, ID: term}
	require.NoError(t, log.appendLocked(tenure.Begin(), true))
	g, err := NewClusterGroup(1, nowMs, nil)
	require.NoError(t, err)
	s, err := New(store, Options{NowMs: nowMs, Replicate: log, Tenure: tenure, Queue: cfg})
	require.NoError(t, err)
	g.replace(0, s)
	return g, store
}

// leaders returns a function that calls leadFrom for the next of three nodes. The nodes have one log.
func leaders(t *testing.T, now func() int64, cfg queue.Config) func(term uint64, left, unknown int) (*Group, *storage.Store) {
	stores := make([]*storage.Store, 3)
	for i := range stores {
		var err error
		stores[i], err = storage.Open(fmt.Sprint("node", i), storage.Options{FS: vfs.NewMem(), Durability: storage.Sync, Replicated: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stores[i].Close()) })
	}
	var entries []storage.LogEntry
	return func(term uint64, left, unknown int) (*Group, *storage.Store) {
		return leadFrom(t, stores[term%3], &entries, now, cfg, term, left, unknown)
	}
}

// Each due time becomes one task, although the leader is killed again and again, often between the
// commits of one catch-up.
func TestEachDueTimeRunsOnceAcrossLeaderKills(t *testing.T) {
	n, kills := longtest.Count(t, 700, 10_000), longtest.Count(t, 10, 50)
	rng := rand.New(rand.NewPCG(3, 4))
	clock := &fixture{t: t}
	clock.nowMs.Store(1_000)
	lead := leaders(t, clock.nowMs.Load, queue.Config{RecurringPerTenant: n})
	const many = 1 << 30
	m := newManyRecurring(n, 1_000)
	g, _ := lead(1, many, 0)
	for name, spec := range m.specs {
		_, err := g.SetRecurring(context.Background(), tenant, m.queueOf[name], name, spec)
		require.NoError(t, err)
	}
	g.Close()
	for kill := range kills {
		clock.nowMs.Add(1_000 * rng.Int64N(40))
		g, _ := lead(uint64(kill)+2, 1+rng.IntN(6), rng.IntN(3))
		s := g.here.Load().shards[0]
		for range rng.IntN(12) { // the commands make turns until the leader fails
			clock.nowMs.Add(rng.Int64N(3_000))
			signal.Send(s.inbox.wake)
			_, _ = AwaitReply(context.Background(), g.Stats)
		}
		g.Close()
	}
	clock.nowMs.Add(130_000)
	g, store := lead(uint64(kills)+2, many, 0)
	caughtUp(t, g, clock.nowMs.Load())
	m.check(t, []*storage.Store{store}, clock.nowMs.Load())
	g.Close()
}
