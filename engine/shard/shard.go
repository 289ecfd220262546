package shard

import (
	"cmp"
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

// Options say how a shard works. Zero fields mean the defaults.
type Options struct {
	Queue queue.Config
	Log   *slog.Logger
	// NowMs is the shard's clock: Unix milliseconds that never go back (see package clock); nil means the host's clock.
	NowMs func() int64
	// Failed, if not nil, is called once, when the shard stops because of an error: the store failed, a record cannot be read, or an
	// invariant is broken. The shard then answers every command with the error.
	Failed func(error)
	// Observe, if not nil, is called after each commit by the publishing goroutine.
	Observe func(CommitStats)
	// Turned, if not nil, is called after each turn by the deciding goroutine.
	Turned func(TurnStats)
	// Stalls, if not nil, records the slow commits.
	Stalls *stalls.Log
	// Stages, if not nil, takes the times of each batch's stages.
	Stages *stages.Times
	// Unsynced, if not nil, counts the enqueues and completions that are acknowledged before an fsync covers them.
	Unsynced *unsynced.Window
	// InboxTasksMax is how many tasks may wait to be enqueued before ErrOverloaded; default 65,536.
	InboxTasksMax int
	// InboxBytesMax is how many bytes of payloads may wait before ErrOverloaded; default 64 MiB. It also bounds a commit.
	InboxBytesMax int

	// Space, if not nil, decides what the disk's free space allows.
	Space *storage.Space

	// Number is the shard's number in its group.
	Number int
	// Replicate, if not nil, is the log to which the shard proposes its decisions in Tenure. The store must have applied the
	// first entry of the tenure. The shard lives as long as the tenure.
	Replicate storage.Log
	Tenure    storage.Tenure
	// LeaseGraceMs extends the leases that the shard recovers. It bounds how far the clock of the node that granted them may have been
	// behind this node's clock.
	LeaseGraceMs int64
	// Alone gives each command a turn of its own. It is for measuring what group commit is worth.
	Alone bool
	// CommitTasksMax is about how many tasks and settlements one commit has; default DefaultCommitTasksMax.
	CommitTasksMax int
	// CommitBytesMax is about how many bytes of the payloads of new tasks one commit has; default DefaultCommitBytesMax. A command that
	// alone exceeds it, or CommitTasksMax, is a commit of its own.
	CommitBytesMax int
}

// TurnStats describes one turn of the deciding goroutine. No further command is taken within a turn.
type TurnStats struct {
	Items int // the number of tasks, leases, waiters and queues handled
	Took  time.Duration
}

// CommitStats describes one commit.
type CommitStats struct {
	Commands int
	Wait     time.Duration // from its submission until it was durable
}

const (
	defaultInboxTasksMax = 1 << 16
	// DefaultInboxBytesMax is Options.InboxBytesMax unless it is set.
	DefaultInboxBytesMax = 64 << 20
	// DefaultCommitTasksMax is Options.CommitTasksMax unless it is set. The stages of a replicated shard (deciding, writing on three nodes,
	// applying and answering) work at the same time, on different commits: with larger ones most stages would be idle.
	DefaultCommitTasksMax = queue.TurnMax
	// DefaultCommitBytesMax is Options.CommitBytesMax unless it is set: as much as an inbox holds.
	DefaultCommitBytesMax = DefaultInboxBytesMax
	// commitsMax is how many commits may be under way: enough to keep the log busy while answers are published.
	commitsMax = 64
)

// Shard is one shard at work. Its methods are safe for concurrent use.
type Shard struct {
	store *storage.Store
	opts  Options
	inbox *inbox

	// Of the deciding goroutine:
	state     *queue.State
	batch     *storage.Batch             // the mutations of the turn, so far
	last      storage.Commit             // the last one submitted
	early     []earlyCommit              // of the turn, so far: see commitEarly
	tickedMs  int64                      // the state machine's time
	failure   error                      // why the shard stopped; set once
	leaving   []*Subscription            // closed, and not ended yet
	subs      map[*Subscription]struct{} // of a replicated shard: subscriptions to end when leadership is lost
	waiting   map[queue.Ref][]*await     // waits for the end of a task
	carried   []command                  // commands that a later turn answers, see carry
	asking    []*figures                 // requests for figures that are not answered yet
	resolved  int                        // tasks that this turn resolved
	toRead    []*begin                   // examines that began in this turn
	refilling int                        // the number of Refills that are not answered
	unread    []queue.Refill             // Refills that can be read
	filling   bool                       // some Refills are being read

	subscribers          atomic.Int64 // waiters that have not ended
	examining            atomic.Int32 // examines under way
	lastFigures          lastFigures
	reading              sync.WaitGroup // lists and other readings under way
	deciding, publishing stage
	failed               sync.Once     // guards Options.Failed
	published            time.Duration // when the last turn was published; of the publishing goroutine
	waits                equalWaits    // likewise

	pipe    chan turn      // from the deciding to the publishing goroutine
	recycle chan []command // command slices for reuse
	done    chan struct{}  // closed when the publishing goroutine ended
}

// New recovers a shard from its store and starts it. The shard does not own the store: close it after the shard.
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
	batch := store.NewBatch()
	if o.Replicate != nil {
		batch = store.NewReplicatedBatch(o.Replicate, o.Tenure)
		skipNumbers(&from, o.Tenure.Term)
	} else {
		o.Queue.Reserve = store.Durability() != storage.Sync
	}
	o.Queue.Deliveries = func() []queue.Delivery { return spareDeliveries.Take(0) }
	state, err := queue.New(o.Queue, batch, from)
	if err != nil {
		return nil, fmt.Errorf("recover the shard: %w", err)
	}
	s := &Shard{
		store: store, opts: o, inbox: newInbox(load{tasks: o.InboxTasksMax, bytes: o.InboxBytesMax}),
		state: state, batch: batch, waiting: map[queue.Ref][]*await{},
		pipe: make(chan turn, commitsMax), recycle: make(chan []command, commitsMax), done: make(chan struct{}),
	}
	if o.Replicate != nil {
		s.subs = map[*Subscription]struct{}{}
	}
	go s.run()
	go s.publish()
	return s, nil
}

// NowMs is the shard's time: Unix milliseconds.
func (s *Shard) NowMs() int64 { return s.opts.NowMs() }

// Close refuses further commands, executes the waiting commands, and returns once they are answered.
func (s *Shard) Close() {
	s.inbox.close(ErrClosed)
	<-s.done
	s.reading.Wait()
}

// fail stops the shard: the state is ahead of the store, so nothing further may be decided from it.
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
