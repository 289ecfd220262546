package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// Options configures a shard. A field that is zero selects its default.
type Options struct {
	Queue queue.Config
	Log   *slog.Logger
	// NowMs returns the time of the shard's clock in Unix milliseconds, which never decreases (see
	// package clock). Nil means the host's clock.
	NowMs func() int64
	// Failed, if not nil, is called once, when the shard stops because of an error: the store
	// failed, a record cannot be read, or an invariant is broken. The shard then answers every
	// command with the error.
	Failed func(error)
	// Observe, if not nil, is called after each commit by the publishing goroutine.
	Observe func(CommitStats)
	// Turned, if not nil, is called after each turn by the deciding goroutine.
	Turned func(TurnStats)
	// Stalls, if not nil, records the slow commits.
	Stalls *stalls.Log
	// Stages, if not nil, records how long each stage of a batch takes.
	Stages *stages.Times
	// Deliver, if not nil, passes messages about tasks that wait for others to another shard, wherever
	// it is. It returns nil once their effects are durable.
	Deliver func(ctx context.Context, to uint16, messages []queue.Message) error
	// Unsynced, if not nil, counts the enqueues and completions that are acknowledged before an
	// fsync makes them durable.
	Unsynced *unsynced.Window
	// InboxTasksMax limits the number of tasks that wait in the inbox; above it, calls fail with
	// ErrOverloaded. Default 65,536.
	InboxTasksMax int
	// InboxBytesMax limits the payload bytes that wait in the inbox; above it, calls fail with
	// ErrOverloaded. Default 64 MiB.
	InboxBytesMax int

	// Space, if not nil, reports which commands the shard must refuse because the disk's free space
	// is low.
	Space *storage.Space

	// Number is the shard's number in its group.
	Number int
	// Replicate, if not nil, is the log to which the shard proposes its decisions in Tenure. The
	// store must have applied the first entry of the tenure. The owner stops the shard when the
	// tenure ends.
	Replicate storage.Log
	Tenure    storage.Tenure
	// LeaseGraceMs is added to the expiry of each lease that the shard recovers. It must be at
	// least the maximum lag of the clock of the node that granted the lease behind this node's
	// clock.
	LeaseGraceMs int64
	// Alone makes the shard decide each command in a separate turn. It exists to measure the
	// benefit of group commit.
	Alone bool
	// CommitTasksMax approximately limits the number of tasks and settlements in one commit;
	// default DefaultCommitTasksMax.
	CommitTasksMax int
	// CommitBytesMax approximately limits the payload bytes of new tasks in one commit; default
	// DefaultCommitBytesMax. No command is split: the command that reaches one of the two limits is
	// the last command of its commit.
	CommitBytesMax int
}

// TurnStats describes one turn of the deciding goroutine. Commands that arrive during a turn wait
// for a later one.
type TurnStats struct {
	Items int // number of tasks, leases, waiters and queues that the turn processed
	Took  time.Duration
}

// CommitStats describes one commit.
type CommitStats struct {
	Commands int
	Wait     time.Duration // time from the end of the decision until the commit was durable
}

const (
	defaultInboxTasksMax = 1 << 16
	// DefaultInboxBytesMax is the default of Options.InboxBytesMax.
	DefaultInboxBytesMax = 64 << 20
	// DefaultCommitTasksMax is the default of Options.CommitTasksMax. The stages of a replicated
	// shard (deciding, writing on three nodes, applying and answering) process different commits at
	// the same time. With larger and so fewer commits, most stages would be idle.
	DefaultCommitTasksMax = queue.TurnMax
	// DefaultCommitBytesMax is the default of Options.CommitBytesMax. It equals the default limit
	// of the inbox.
	DefaultCommitBytesMax = DefaultInboxBytesMax
	// commitsMax limits the number of turns that wait between the two goroutines. It is large
	// enough to keep the log busy while answers are published.
	commitsMax = 64
)

// Shard is a running shard. Its methods are safe for concurrent use. Any goroutine may use its
// fields. What only one goroutine may use is not reachable from a Shard: it is in the decider or in
// the publisher.
type Shard struct {
	store *storage.Store
	opts  Options
	inbox *inbox

	pipe    chan turn      // sent from the deciding to the publishing goroutine
	recycle chan []command // command slices for reuse
	done    chan struct{}  // closed when the publishing goroutine has ended

	subscribers          atomic.Int64   // waiters that have not ended
	examining            atomic.Int32   // examines under way
	lastFigures          lastFigures    // figures of all queues
	reading              sync.WaitGroup // background readings of the store
	deciding, publishing stage
	couriers             couriers
	failed               sync.Once // guards Options.Failed
}

// New recovers a shard from its store and starts it. The caller owns the store and must close it
// after the shard.
func New(store *storage.Store, o Options) (*Shard, error) {
	if o.NowMs == nil {
		o.NowMs = clock.New().NowMs
	}
	if o.InboxTasksMax == 0 {
		o.InboxTasksMax = defaultInboxTasksMax
	}
	if o.InboxBytesMax == 0 {
		o.InboxBytesMax = DefaultInboxBytesMax
	}
	o.CommitTasksMax = cmp.Or(o.CommitTasksMax, DefaultCommitTasksMax)
	o.CommitBytesMax = cmp.Or(o.CommitBytesMax, DefaultCommitBytesMax)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stages == nil {
		o.Stages = &stages.Times{}
	}
	from, err := store.Recover()
	if err != nil {
		return nil, fmt.Errorf("recover the shard: %w", err)
	}
	for i := range from.Leases {
		for k := range from.Leases[i].Refs {
			from.Leases[i].Refs[k].ExpiresAtMs += o.LeaseGraceMs
		}
	}
	mutations := store.NewBatch()
	if o.Replicate != nil {
		mutations = store.NewReplicatedBatch(o.Replicate, o.Tenure)
		skipNumbers(&from, o.Tenure.Term)
	} else {
		o.Queue.Reserve = store.Durability() != storage.Sync
	}
	batch := plantedBatch(mutations)
	o.Queue.Growth = func() error {
		err := o.Space.Growth()
		if err != nil {
			o.Space.CountRefusals(err, 1)
		}
		return plantedGrowth(err)
	}
	o.Queue.Deliveries = func() []queue.Delivery { return spareDeliveries.Take(0) }
	state, err := queue.New(o.Queue, batch, from)
	if err != nil {
		return nil, fmt.Errorf("recover the shard: %w", err)
	}
	s := &Shard{
		store: store, opts: o, inbox: newInbox(load{tasks: o.InboxTasksMax, bytes: o.InboxBytesMax}),
		pipe: make(chan turn, commitsMax), recycle: make(chan []command, commitsMax), done: make(chan struct{}),
	}
	s.couriers.shard = s
	s.couriers.ctx, s.couriers.stop = context.WithCancel(context.Background())
	d := &decider{
		shard: s, state: state,
		commits:       commits{state: state, batch: batch, log: o.Replicate},
		subscriptions: subscriptions{state: state, count: &s.subscribers},
		refills:       refills{shard: s, state: state},
		awaits:        awaits{state: state, of: map[queue.Ref][]*await{}},
		figures:       figuresRequests{state: state, last: &s.lastFigures, space: o.Space},
	}
	if o.Replicate != nil {
		d.subscriptions.open = map[*Subscription]struct{}{}
	}
	p := &publisher{shard: s, waits: equalWaits{stages: o.Stages}}
	s.couriers.wake(state.Outgoing())
	go d.run()
	go p.run()
	return s, nil
}

// NowMs returns the shard's time in Unix milliseconds.
func (s *Shard) NowMs() int64 { return s.opts.NowMs() }

// Close refuses further commands, executes the waiting commands, and returns once they are
// answered.
func (s *Shard) Close() {
	s.couriers.stop()
	s.inbox.close(ErrClosed)
	<-s.done
	s.reading.Wait()
}

// fail stops the shard after an error. The state machine is then ahead of the store, so no further
// decision may rely on it. Both goroutines call fail; only the first call writes to the log and
// calls Options.Failed. The deciding goroutine also sets decider.failure, which makes it refuse all
// later commands. If a commit fails, the publishing goroutine gets the error first. The deciding
// goroutine continues to decide until it gets an error too; the publisher fails the turns that it
// decides until then.
func (s *Shard) fail(err error) {
	lost := errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknownOutcome)
	if lost {
		s.inbox.close(&NotLeaderError{s.opts.Number})
	}
	s.inbox.close(ErrClosed)
	s.failed.Do(func() {
		if lost {
			s.opts.Log.Debug("leadership is lost", "error", err)
		} else {
			s.opts.Log.Error("the shard failed and stops", "error", err)
		}
		if s.opts.Failed != nil {
			s.opts.Failed(err)
		}
	})
}
