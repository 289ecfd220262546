package shard

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// ShardsMax is the maximum number of shards of a group.
const ShardsMax = 32

// Group combines the shards of one process: it places tasks, finds the shard of an id, splits
// batches and merges answers. A shard's number in the group is the shard number in the ids of its
// tasks. A group of one shard passes every call directly to that shard. A Group's methods are safe
// for concurrent use.
type Group struct {
	size   int
	here   atomic.Pointer[view]
	clock  func() int64
	log    *slog.Logger
	places directory
	spread atomic.Uint32 // counter that selects the shard of the next call's spread tasks
	// polling is a counter that selects the first shard that the next call of Claim asks.
	polling atomic.Uint32

	mu sync.Mutex // guards subs and stores to here
	// subs is nil without a cluster. Lead calls the failed function of each subscription that gets
	// no tasks from the new shard.
	subs map[*GroupSubscription]func(error)
}

// view lists the shards that this node serves: all shards of the group, or in a cluster only the
// shards that this node leads. A view is immutable; a change stores a new one.
type view struct {
	shards []*Shard // by number; nil where another node leads
	led    []int    // the indexes of shards that are not nil, ascending
}

func newView(shards []*Shard) *view {
	v := &view{shards: shards}
	for i, s := range shards {
		if s != nil {
			v.led = append(v.led, i)
		}
	}
	return v
}

func (v *view) at(i int) (*Shard, error) {
	if s := v.shards[i]; s != nil {
		return s, nil
	}
	return nil, &NotLeaderError{i}
}

// all returns the shards of the view, or a *NotLeaderError if it has none.
func (v *view) all() ([]*Shard, error) {
	out := make([]*Shard, len(v.led))
	for k, i := range v.led {
		out[k] = v.shards[i]
	}
	if len(out) == 0 {
		return nil, &NotLeaderError{0}
	}
	return out, nil
}

// NewClusterGroup returns the group of a cluster's node. The node leads no shard yet: see Lead and
// Lose. shards is the number of shards of the cluster, 1 to ShardsMax. nowMs is the clock of the
// shards, as in Options.NowMs.
func NewClusterGroup(shards int, nowMs func() int64, log *slog.Logger) (*Group, error) {
	if shards < 1 || shards > ShardsMax {
		return nil, fmt.Errorf("%d shards: use 1 to %d", shards, ShardsMax)
	}
	g := &Group{size: shards, clock: nowMs, log: log, subs: map[*GroupSubscription]func(error){}}
	g.here.Store(newView(make([]*Shard, shards)))
	g.places.begin(map[queueName]pin{}, map[queueName]policyVersions{})
	return g, nil
}

// Lead adds a shard that this node leads from now on. Existing subscriptions that get no tasks from
// this shard fail with ErrRoutesChanged.
func (g *Group) Lead(i int, s *Shard) error {
	if err := g.learnPoliciesOf(s); err != nil {
		return err
	}
	g.replace(i, s)
	g.mu.Lock()
	subs := maps.Clone(g.subs)
	g.mu.Unlock()
	for sub, failed := range subs {
		if sub.subs[i] == nil {
			failed(ErrRoutesChanged)
		}
	}
	return nil
}

// Lose removes a shard that this node no longer leads. It does not stop the shard: the caller must.
func (g *Group) Lose(i int) { g.replace(i, nil) }

func (g *Group) replace(i int, s *Shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shards := slices.Clone(g.here.Load().shards)
	shards[i] = s
	g.here.Store(newView(shards))
}

// Led returns the numbers of the shards that this node leads, ascending.
func (g *Group) Led() []int { return slices.Clone(g.here.Load().led) }

// NewGroup recovers a shard from each store, concurrently, and starts them. of returns the options
// of each shard. The caller owns the stores and must close them after the group.
func NewGroup(stores []*storage.Store, of func(shard int) Options) (*Group, error) {
	if n := len(stores); n < 1 || n > ShardsMax {
		return nil, fmt.Errorf("%d shards: use 1 to %d", n, ShardsMax)
	}
	g := &Group{size: len(stores)}
	shards := make([]*Shard, len(stores))
	now := clock.New().NowMs // one clock for all shards, so that their times are comparable
	errs := make([]error, len(stores))
	var all sync.WaitGroup
	for i, store := range stores {
		o := of(i)
		if o.NowMs == nil {
			o.NowMs = now
		}
		g.clock, o.Number = o.NowMs, i
		o.Queue.Shard, o.Queue.Shards, o.Deliver = i, len(stores), g.Deliver
		if o.Log == nil {
			o.Log = slog.New(slog.DiscardHandler)
		}
		g.log = o.Log
		o.Log = o.Log.With("shard", i)
		all.Go(func() {
			var err error
			if shards[i], err = New(store, o); err != nil {
				errs[i] = fmt.Errorf("shard %d: %w", i, err)
			}
		})
	}
	all.Wait()
	g.here.Store(newView(shards))
	err := errors.Join(errs...)
	if err == nil {
		err = g.learnPolicies()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Len returns the number of shards.
func (g *Group) Len() int { return g.size }

// NowMs returns the shards' time in Unix milliseconds.
func (g *Group) NowMs() int64 { return g.clock() }

// ClockMoved makes each shard check its deadlines. The timer of a sleeping shard runs at the rate
// of the monotonic clock, not at the rate of the shards' clock. A caller that slews the shards'
// clock must therefore call ClockMoved repeatedly during the slew.
func (g *Group) ClockMoved() {
	for _, s := range g.here.Load().shards {
		if s != nil {
			signal.Send(s.inbox.wake)
		}
	}
}

// Close refuses further commands, executes the waiting commands, and returns once they are
// answered.
func (g *Group) Close() {
	var all sync.WaitGroup
	for _, s := range g.here.Load().shards {
		if s != nil {
			all.Go(s.Close)
		}
	}
	all.Wait()
}

// of returns the shard of an id. It returns ErrNotFound if the group has no such shard, and
// ErrNotLeader if this node does not lead it.
func (g *Group) of(id queue.ID) (*Shard, error) {
	if int(id.Shard) >= g.size {
		return nil, ErrNotFound
	}
	return g.here.Load().at(int(id.Shard))
}

// Lookup finds one task of a tenant. reply is called once, with ErrNotFound if the task does not
// exist; it must not block. If Lookup returns an error (ErrNotFound, ErrNotLeader, ErrOverloaded or
// ErrClosed), reply is not called.
func (g *Group) Lookup(tenant string, id queue.ID, reply func(Found, error)) error {
	s, err := g.of(id)
	if err != nil {
		return err
	}
	return s.Lookup(tenant, id.Ref, reply)
}

// Stats requests the figures of all queues, summed over all shards; reply is called as for Lookup.
func (g *Group) Stats(reply func([]queue.Stats, error)) error {
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	if len(shards) == 1 {
		return shards[0].Stats(reply)
	}
	return gather(shards, (*Shard).Stats, func(all [][]queue.Stats, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		reply(MergeStats(all), nil)
	})
}

// ListQueues requests a page of the list of queues, with figures summed over all shards; reply is
// called as for Lookup.
func (g *Group) ListQueues(l queue.QueueList, reply func(QueuePage, error)) error {
	shards, err := g.here.Load().all()
	if err != nil {
		return err
	}
	ask := func(s *Shard, reply func(QueuePage, error)) error { return s.ListQueues(l, reply) }
	return gather(shards, ask, func(parts []QueuePage, err error) {
		if err != nil {
			reply(QueuePage{}, err)
			return
		}
		reply(MergePages(parts, l.Limit), nil)
	})
}

// MergePages combines pages of the same list, of several shards or nodes, into the first page of
// the whole list, with at most limit queues. Its queues are in order. Each part contains all its
// queues up to its end, so the result is complete up to the first of the ends.
func MergePages(parts []QueuePage, limit int) QueuePage {
	var out QueuePage
	lists := make([][]queue.Stats, len(parts))
	for i, part := range parts {
		lists[i] = part.Queues
		if part.End != nil && (out.End == nil || part.End.Compare(*out.End) < 0) {
			out.End = part.End
		}
	}
	nameOf := func(q *queue.Stats) queue.Name { return queue.Name{Tenant: q.Tenant, Queue: q.Name} }
	out.Queues = slices.DeleteFunc(MergeStats(lists), func(q queue.Stats) bool { return out.End != nil && nameOf(&q).Compare(*out.End) > 0 })
	slices.SortFunc(out.Queues, func(p, q queue.Stats) int { return nameOf(&p).Compare(nameOf(&q)) })
	if len(out.Queues) > limit {
		out.Queues = out.Queues[:limit]
		out.End = new(nameOf(&out.Queues[limit-1]))
	}
	return out
}

// gather asks every shard. When all shards have answered, it replies with the answers in the order
// of the shards, or with the first error. If some shards refuse the request, it replies with an
// error after the other shards have answered. If all shards refuse, it returns an error and does
// not reply.
func gather[T any](shards []*Shard, ask func(*Shard, func(T, error)) error, reply func([]T, error)) error {
	j := newJoin(make([]T, len(shards)), len(shards), reply)
	asked := 0
	var refused error
	for i, s := range shards {
		err := ask(s, func(v T, err error) {
			j.out[i] = v
			j.done(1, err)
		})
		if err != nil {
			refused = err
			continue
		}
		asked++
	}
	if asked == 0 {
		return refused
	}
	if asked < len(shards) {
		j.done(len(shards)-asked, refused)
	}
	return nil
}

// join collects the parts of an answer. The call of done for the last part calls reply.
type join[T any] struct {
	out   []T // each part writes only its own elements
	left  atomic.Int32
	err   atomic.Pointer[error]
	reply func([]T, error)
}

func newJoin[T any](out []T, parts int, reply func([]T, error)) *join[T] {
	j := &join[T]{out: out, reply: reply}
	j.left.Store(int32(parts))
	return j
}

func (j *join[T]) done(parts int, err error) {
	if err != nil {
		j.err.CompareAndSwap(nil, &err)
	}
	if j.left.Add(-int32(parts)) > 0 {
		return
	}
	if failed := j.err.Load(); failed != nil {
		j.reply(nil, *failed)
		return
	}
	j.reply(j.out, nil)
}

type queueName struct{ tenant, name string }

// MergeStats adds up the figures that the shards have of the same queue. all contains one list for
// each shard.
func MergeStats(all [][]queue.Stats) []queue.Stats {
	var out []queue.Stats
	at := map[queueName]int{}
	for _, stats := range all {
		for i := range stats {
			q := &stats[i]
			key := queueName{q.Tenant, q.Name}
			if k, found := at[key]; found {
				out[k].Add(q)
				continue
			}
			at[key] = len(out)
			out = append(out, *q)
			out[len(out)-1].ID = 0 // the ID differs between shards
		}
	}
	return out
}

// Audited compares a queue's counters, summed over all shards, with its stored tasks.
type Audited struct {
	Tenant string
	Name   string
	Counts queue.Counts
	Stored uint64
	// Counted is the number of tasks in each state according to the counters. Found is the number
	// according to the tasks' records. In each shard, both are as of the same time.
	Counted, Found storage.States
}

// Audit counts the stored tasks of each queue. It reads every task's key. The figures of one shard
// are as of one moment, which differs from shard to shard.
func (g *Group) Audit() ([]Audited, error) {
	var out []Audited
	at := map[queueName]int{}
	v := g.here.Load()
	for _, i := range v.led {
		audited, err := v.shards[i].store.Audit(v.shards[i].NowMs())
		if err != nil {
			return nil, fmt.Errorf("audit shard %d: %w", i, err)
		}
		for _, a := range audited {
			key := queueName{a.Tenant, a.Name}
			k, found := at[key]
			if !found {
				k = len(out)
				at[key] = k
				out = append(out, Audited{Tenant: a.Tenant, Name: a.Name})
			}
			out[k].add(a)
		}
	}
	return out, nil
}

func (a *Audited) add(b storage.AuditedQueue) {
	a.Stored += b.Stored
	a.Counted, a.Found = a.Counted.Plus(b.Counted), a.Found.Plus(b.Found)
	a.Counts.Enqueued += b.Counts.Enqueued
	a.Counts.Completed += b.Counts.Completed
	a.Counts.Fresh += b.Counts.Fresh
	a.Counts.Returned += b.Counts.Returned
	a.Counts.Leased += b.Counts.Leased
	a.Counts.Dead += b.Counts.Dead
	a.Counts.Removed += b.Counts.Removed
	a.Counts.Bytes += b.Counts.Bytes
}
