package shard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// crashDriver acts as the clients of one shard. It sends random commands, some of them
// concurrently, and records the answers in the ledger.
type crashDriver struct {
	*testing.T
	rng    *rand.Rand
	l      *crashLedger
	issued crashIssued // in this life and earlier ones; guarded by the ledger
	store  *storage.Store
	shard  *Shard
	nowMs  atomic.Int64
	under  chan struct{} // an element for each pending command
	failed atomic.Bool
	sent   int
	tasks  int  // number of tasks named so far
	large  bool // some payloads have the size of the default limit
	prefix string

	versions   map[crashQueue]uint64 // the highest version of each queue's policy so far
	versionMin uint64
}

var crashQueues = []crashQueue{{"t0", "a"}, {"t0", "b"}, {"t0", "c"}, {"t1", "a"}}

const (
	crashUnderWay  = 6
	crashKeyWindow = 2_000
)

// openCrashed opens a shard on a disk. Its windows are so small that decisions must read the store.
// It returns the stored next seq of each queue.
func openCrashed(t *testing.T, fs vfs.FS, durability storage.Durability, nowMs func() int64) (_ *storage.Store, _ *Shard, nextSeqs map[uint32]uint64) {
	t.Helper()
	store, err := storage.Open("shard", storage.Options{
		FS: fs, Durability: durability, SyncInterval: crashSyncInterval, MemTableBytes: 64 << 10,
		Fatal: func(problem string) { t.Errorf("the store failed: %s", problem) },
	})
	require.NoError(t, err)
	from, err := store.Recover()
	require.NoError(t, err)
	nextSeqs = map[uint32]uint64{}
	for _, q := range from.Queues {
		nextSeqs[q.ID] = q.NextSeq
	}
	shard, err := New(store, Options{NowMs: nowMs, Queue: queue.Config{WindowTasks: 3, WindowsTasks: 20, CacheBytesMax: 200, KeyWindowMs: crashKeyWindow}})
	require.NoError(t, err)
	return store, shard, nextSeqs
}

// start records that a command is sent. The caller calls done with its answer.
func (c *crashDriver) start() (done func(error)) {
	c.under <- struct{}{}
	c.sent++
	return func(err error) {
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNoQueue) && !errors.Is(err, storage.ErrPlace) {
			c.Errorf("a command was refused: %v", err)
			c.failed.Store(true)
		}
		<-c.under
	}
}

func (c *crashDriver) settle() {
	for range crashUnderWay {
		c.under <- struct{}{}
	}
	for range crashUnderWay {
		<-c.under
	}
}

func (c *crashDriver) queue() crashQueue { return crashQueues[c.rng.IntN(len(crashQueues))] }

func (c *crashDriver) step() {
	switch n := c.rng.IntN(100); {
	case n < 26:
		c.enqueue()
	case n < 44:
		c.claim()
	case n < 66:
		c.settleLease()
	case n < 76:
		c.pass()
	case n < 81:
		c.change(crashChange{what: Cancel, removes: true})
	case n < 84:
		c.change([]crashChange{{what: Redrive, ofDead: true}, {what: Redrive, ofDead: true}, {what: PurgeDead, ofDead: true, removes: true}}[c.rng.IntN(3)])
	case n < 86:
		c.change(crashChange{what: Reschedule(c.nowMs.Load() + int64(c.rng.IntN(900)))})
	case n < 87:
		c.prioritize()
	case n < 89:
		c.purge()
	case n < 92:
		c.pause()
	case n < 94:
		c.configure()
	case n < 96:
		c.putSystem()
	default:
		c.look()
	}
}

func (c *crashDriver) enqueue() {
	q := c.queue()
	if c.rng.IntN(12) == 0 { // a new queue
		q = crashQueue{"t1", fmt.Sprintf("new %s/%d", c.prefix, c.tasks)}
	}
	tasks := make([]queue.NewTask, 1+c.rng.IntN(5))
	for i := range tasks {
		n := queue.NewTask{Queue: q.name, Priority: uint8(c.rng.IntN(3) * 4), MaxAttempts: uint32(c.rng.IntN(4)), RetentionMs: uint64(c.rng.IntN(3)) * 5_000}
		switch c.rng.IntN(8) {
		case 0:
			n.DelayMs = uint64(c.rng.IntN(900))
		case 1:
			n.TTLMs = uint64(1 + c.rng.IntN(900))
		case 2:
			n.Key = fmt.Sprint(c.rng.IntN(4))
		}
		c.tasks++
		name := fmt.Sprintf("%s/%d/", c.prefix, c.tasks)
		size := c.rng.IntN(60)
		if c.rng.IntN(20) == 0 {
			size = 8_000 // fills a memtable soon
		}
		if c.large && c.rng.IntN(6) == 0 {
			size = 1<<20 - len(name) // many times a memtable
		}
		n.Payload = append([]byte(name), make([]byte, size)...)
		tasks[i] = n
	}
	askedMs, asked := c.nowMs.Load(), 0
	c.l.note(func(at int) {
		asked = at
		for i := range tasks {
			c.l.asked[taskName(tasks[i].Payload)] = true
		}
	})
	done := c.start()
	require.NoError(c, c.shard.Enqueue(q.tenant, tasks, func(out []queue.Enqueued, err error) {
		if err == nil {
			c.l.note(func(at int) {
				for i, e := range out {
					c.enqueued(q, &tasks[i], e, asked, at, askedMs)
				}
			})
		}
		done(err)
	}))
}

func taskName(payload []byte) string {
	for i := len(payload) - 1; i >= 0; i-- {
		if payload[i] == '/' {
			return string(payload[:i])
		}
	}
	return ""
}

// enqueued records an acknowledged task. The caller holds the ledger's lock, through
// crashLedger.note.
func (c *crashDriver) enqueued(q crashQueue, n *queue.NewTask, e queue.Enqueued, asked, at int, askedMs int64) {
	l := c.l
	if n.Key != "" && !e.Duplicate {
		l.keys[crashKey{q, n.Key}] = crashKeyed{ref: e.Ref, acked: at, untilMs: askedMs + crashKeyWindow}
	}
	if e.Duplicate || e.Err != nil {
		return
	}
	t := l.task(e.Ref)
	t.crashQueue, t.name, t.asked, t.acked, t.retentionMs = q, taskName(n.Payload), asked, at, int64(n.RetentionMs)
	l.tasks = append(l.tasks, t)
	l.order = append(l.order, crashFact{acked: at, task: t})
	if problem := c.issued.add(q, t.name, t.ref); problem != "" {
		c.Error(problem)
		c.failed.Store(true)
	}
}

// claim leases ready tasks of some queues of a tenant, without waiting.
func (c *crashDriver) claim() {
	q := c.queue()
	names := []string{q.name}
	if q.tenant == "t0" && c.rng.IntN(2) == 0 {
		names = []string{"a", "b", "c"}
	}
	done := c.start()
	sub, err := c.shard.Subscribe(queue.Claim{Tenant: q.tenant, Queues: names, Credit: 1 + c.rng.IntN(7), Once: true, LeaseMs: uint64(200 + c.rng.IntN(2_000))},
		func(ds []queue.Delivery) { c.l.delivered(q, ds) }, func(err error) { c.Errorf("the subscription failed: %v", err) }, nil)
	require.NoError(c, err)
	sub.Close(func() { done(nil) })
}

func (c *crashDriver) settleLease() {
	byTenant := map[string][]queue.Settlement{}
	c.l.note(func(int) {
		for range 1 + c.rng.IntN(3) {
			if len(c.l.held) == 0 {
				return
			}
			i := c.rng.IntN(len(c.l.held))
			h := c.l.held[i]
			s := queue.Settlement{
				Ref: h.Ref, Token: h.Token, Action: []queue.Action{queue.Complete, queue.Complete, queue.Complete, queue.Fail, queue.Fail, queue.Release, queue.Extend}[c.rng.IntN(7)],
				Error: "oops", Result: []byte("result of " + taskName(h.Payload)), DelayMs: uint64(c.rng.IntN(300)), LeaseMs: uint64(1 + c.rng.IntN(2_000)),
			}
			if s.Action != queue.Extend {
				c.l.held = append(c.l.held[:i], c.l.held[i+1:]...)
			}
			byTenant[h.tenant] = append(byTenant[h.tenant], s)
		}
	})
	for tenant, batch := range byTenant {
		c.settleBatch(tenant, batch)
	}
}

func (c *crashDriver) settleBatch(tenant string, batch []queue.Settlement) {
	removals := make([]*crashRemoval, len(batch))
	askedMs := c.nowMs.Load()
	c.l.note(func(at int) {
		for i, s := range batch {
			if t := c.l.task(s.Ref); s.Action == queue.Complete {
				removals[i] = &crashRemoval{asked: at, result: s.Result}
				t.removals = append(t.removals, removals[i])
			}
		}
	})
	done := c.start()
	require.NoError(c, c.shard.Settle(tenant, batch, func(out []error, err error) {
		if err == nil {
			c.l.note(func(at int) {
				for i, r := range removals {
					if r != nil {
						c.l.removed(c.l.byRef[batch[i].Ref], r, at, out[i] == nil)
						if t := c.l.byRef[batch[i].Ref]; out[i] == nil && t.retentionMs > 0 {
							r.untilMs = askedMs + t.retentionMs
						}
					}
				}
			})
		}
		done(err)
	}))
}

func (l *crashLedger) removed(t *crashTask, r *crashRemoval, at int, did bool) {
	r.acked, r.did = at, did
	if did {
		l.order = append(l.order, crashFact{acked: at, task: t, removed: true})
	}
}

func (c *crashDriver) pass() {
	c.nowMs.Add(int64([]int{1, 20, 150, 700}[c.rng.IntN(4)]))
	done := c.start()
	require.NoError(c, c.shard.Stats(func(_ []queue.Stats, err error) { done(err) }))
}

// crashChange is a change to single tasks.
type crashChange struct {
	what    Change
	ofDead  bool // it has an effect on dead tasks only
	removes bool
}

// prioritize changes the priority of a task, at most once: several such changes that are under way
// are not decided in their order.
func (c *crashDriver) prioritize() {
	var t *crashTask
	c.l.note(func(int) {
		if len(c.l.tasks) > 0 {
			t = c.l.tasks[c.rng.IntN(len(c.l.tasks))]
		}
		if t != nil && c.l.set[priorityOf(t.ref)] != nil {
			t = nil
		}
	})
	if t == nil {
		return
	}
	priority := uint8(1 + c.rng.IntN(queue.MaxPriority))
	answered := c.l.ask(priorityOf(t.ref), fmt.Sprint(priority))
	done := c.start()
	require.NoError(c, c.shard.Change(Prioritize(priority), t.tenant, []queue.Ref{t.ref}, func(out []error, err error) {
		if err == nil && out[0] == nil {
			answered()
		}
		done(err)
	}))
}

func priorityOf(ref queue.Ref) string { return crashPriority + fmt.Sprint(ref) }

const crashPriority = "priority of "

func (c *crashDriver) change(what crashChange) {
	var refs []queue.Ref
	var tenant string
	removals := map[queue.Ref]*crashRemoval{}
	c.l.note(func(at int) {
		for range 1 + c.rng.IntN(3) {
			if len(c.l.tasks) == 0 {
				return
			}
			t := c.l.tasks[c.rng.IntN(len(c.l.tasks))]
			if what.ofDead && len(c.l.dead) > 0 {
				t = c.l.byRef[c.l.dead[c.rng.IntN(len(c.l.dead))]]
			}
			if t == nil || tenant != "" && t.tenant != tenant || removals[t.ref] != nil {
				continue
			}
			tenant = t.tenant
			refs = append(refs, t.ref)
			removals[t.ref] = &crashRemoval{asked: at, frees: true}
			if what.removes {
				t.removals = append(t.removals, removals[t.ref])
			}
		}
	})
	if len(refs) == 0 {
		return
	}
	done := c.start()
	require.NoError(c, c.shard.Change(what.what, tenant, refs, func(out []error, err error) {
		if err == nil {
			c.l.note(func(at int) {
				for i, ref := range refs {
					if what.removes {
						c.l.removed(c.l.byRef[ref], removals[ref], at, out[i] == nil)
					}
				}
			})
		}
		done(err)
	}))
}

func (c *crashDriver) purge() {
	q := c.queue()
	c.l.note(func(at int) { c.l.purges = append(c.l.purges, crashPurge{q, at}) })
	done := c.start()
	require.NoError(c, c.shard.Purge(q.tenant, q.name, 1+c.rng.IntN(9), func(_ Purged, err error) { done(err) }))
}

func (c *crashDriver) pause() {
	q, paused := c.queue(), c.rng.IntN(3) == 0
	answered := c.l.ask("pause of "+fmt.Sprint(q), fmt.Sprint(paused))
	done := c.start()
	require.NoError(c, c.shard.Pause(q.tenant, q.name, paused, func(_ struct{}, err error) {
		answered()
		done(err)
	}))
}

func (c *crashDriver) configure() {
	q, version := c.queue(), c.versionMin+uint64(1+c.rng.IntN(30))
	answered := func() {}
	if version > c.versions[q] { // a lower version has no effect
		c.versions[q] = version
		answered = c.l.ask("policy of "+fmt.Sprint(q), fmt.Sprint(version))
	}
	done := c.start()
	p := queue.Policy{MaxAttempts: 3, RetentionMs: 4_000, HistoryTasksMax: uint32(c.rng.IntN(3)) * 3, HistoryRetentionMs: uint64(c.rng.IntN(2)) * 900}
	if q == historyQueue {
		p.HistoryTasksMax, p.HistoryRetentionMs = queue.HistoryTasksLimit, 0
	}
	require.NoError(c, c.shard.Configure(q.tenant, q.name, p, version, func(_ struct{}, err error) {
		answered()
		c.l.note(func(at int) {
			if q == historyQueue && c.l.historySince == 0 {
				c.l.historySince = at
			}
		})
		done(err)
	}))
}

func (c *crashDriver) putSystem() {
	key, value := fmt.Sprint(c.rng.IntN(3)), fmt.Sprint(c.rng.IntN(1_000))
	answered := c.l.ask("record "+key, value)
	done := c.start()
	require.NoError(c, c.shard.PutSystem([]storage.SystemRecord{{Key: key, Value: []byte(value)}}, func(_ struct{}, err error) {
		answered()
		done(err)
	}))
}

// look lists dead tasks or looks up a task. A later step redrives the dead tasks that it finds.
func (c *crashDriver) look() {
	q := c.queue()
	done := c.start()
	if c.rng.IntN(2) == 0 {
		require.NoError(c, c.shard.List(List{Tenant: q.tenant, Queue: q.name, State: Dead, Limit: 5}, func(l Listed, err error) {
			c.l.note(func(int) {
				for _, f := range l.Tasks {
					c.l.dead = append(c.l.dead, f.Ref)
				}
			})
			done(err)
		}))
		return
	}
	require.NoError(c, c.shard.QueueStats(q.tenant, q.name, func(_ queue.Stats, err error) { done(err) }))
}

// crashPoints copies the disk in the state that a loss of power would leave: at each file system
// operation that makes data durable, and at some others.
type crashPoints struct {
	mu    sync.Mutex
	rng   *rand.Rand
	disk  *vfs.MemFS
	l     *crashLedger
	nowMs func() int64
	on    bool
	every int // copies one in this many of the operations that make data durable
	taken []crashPoint
}

type crashPoint struct {
	disk    *vfs.MemFS
	acked   int // acknowledgements up to this event must hold
	asked   int // requests after this event cannot have taken effect
	nowMs   int64
	percent int // percentage of the unsynced data that survives
	what    string
}

func (p *crashPoints) maybe(op errorfs.Op) error {
	var write bool
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpRename, errorfs.OpRemove:
		write = true
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || write && p.rng.IntN(10) > 0 || p.rng.IntN(p.every) > 0 {
		return nil
	}
	p.take(fmt.Sprintf("before operation kind %d on %s", op.Kind, op.Path))
	return nil
}

// take requires the lock.
func (p *crashPoints) take(what string) {
	c := crashPoint{nowMs: p.nowMs(), acked: p.l.now(), percent: []int{0, 0, 50, 100, p.rng.IntN(101)}[p.rng.IntN(5)], what: what}
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: c.percent}
	if c.percent > 0 {
		cfg.RNG = rand.New(rand.NewPCG(p.rng.Uint64(), 1))
	}
	c.disk = p.disk.CrashClone(cfg)
	c.asked = p.l.now()
	p.taken = append(p.taken, c)
}
