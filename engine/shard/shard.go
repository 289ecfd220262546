// Package shard puts one shard to work: inbox → queue (decide) → commit → replies.
//
// Two goroutines carry it. The deciding one takes everything that waits in the inbox, decides it in
// the state machine, submits one batch and goes on with what came meanwhile; it alone touches the state. The
// releasing one waits, in the order of the decisions, until a batch is durable and then lets its
// answers out. A batch is what waited: one command when idle, hundreds when busy, with no timer.
package shard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// Options say how a shard works. Zero fields mean the defaults.
type Options struct {
	Queue queue.Config
	Log   *slog.Logger
	// NowMs is the shard's clock: Unix milliseconds that never go back, as those of package clock; nil means the host's.
	NowMs func() int64
	// Failed, if not nil, is called once, when the shard can't go on: the store failed, or holds what
	// can't be read. The shard then answers everything with the error.
	Failed func(error)
	// Observe, if not nil, is told of each commit, by the releasing goroutine.
	Observe func(CommitStats)
	// Turned, if not nil, is called by the deciding goroutine after each of its turns.
	Turned func(TurnStats)
	// Stages, if not nil, takes the times of each batch's stages.
	Stages *stages.Times
	// InboxTasksMax is how many tasks may wait to be enqueued before ErrOverloaded; default 65,536.
	InboxTasksMax int
	// InboxBytesMax is how many bytes of payloads may wait before ErrOverloaded; default 64 MiB. A commit carries no more
	// either.
	InboxBytesMax int

	// Space, if not nil, decides what the disk's free space allows.
	Space *storage.Space

	// Number is the shard's in its group.
	Number int
	// Replicate, if not nil, is the log to which the shard proposes its decisions, as those of Tenure. The shard lives as long as
	// the tenure, whose first entry is applied.
	Replicate storage.Log
	Tenure    storage.Tenure
	// LeaseGraceMs is added to the leases that the shard recovers: so far the clock of the node that granted them may have
	// been behind this one's.
	LeaseGraceMs int64
	// Alone has each command decided and committed alone. It is for measuring what it is worth that they are not.
	Alone bool
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
	// commitsMax is how many commits may be under way: enough to keep the log busy while answers go out.
	commitsMax = 64
)

// Shard is one shard at work. Its methods are safe for concurrent use.
type Shard struct {
	store *storage.Store
	state *queue.State // the deciding goroutine's
	batch *storage.Batch
	inbox *inbox
	opts  Options

	leaving     []*Subscription            // closed; the deciding goroutine's
	subs        map[*Subscription]struct{} // of a replicated store: the subscriptions to end when leadership is lost; the deciding goroutine's
	last        storage.Commit             // that was submitted; the deciding goroutine's
	waiting     map[queue.Ref][]*await     // for the end of a task; the deciding goroutine's
	early       []storage.Commit           // of the decision under way; the deciding goroutine's
	subscribers atomic.Int64               // waiters that have not ended
	seen        lastFigures
	carried     []command  // commands that a later turn answers, see carry; the deciding goroutine's
	asking      []*figures // requests for figures that are not answered yet; the deciding goroutine's
	tickedMs    int64      // the state machine's time; the deciding goroutine's
	failure     error      // the deciding goroutine's; set once
	failed      sync.Once

	resolved  int          // tasks that this turn resolved; the deciding goroutine's
	toRead    []*begin     // examines that began in this turn; the deciding goroutine's
	examining atomic.Int32 // the number of examines under way

	refilling int            // Refills that are not answered; the deciding goroutine's
	unread    []queue.Refill // that can be read; the deciding goroutine's
	filling   bool           // some are being read; the deciding goroutine's

	reading             sync.WaitGroup // lists and other readings under way
	deciding, releasing stage

	pipe    chan decided
	recycle chan []command // command slices that were released
	done    chan struct{}
}

// decided is a batch of decisions on its way to be durable, and what to let out after that.
type decided struct {
	early     []storage.Commit // what had to be visible before the rest could be decided
	commit    storage.Commit
	committed bool             // there was something to commit
	verified  storage.Proposal // of a replicated store, where there was not: whether the answers are those of a leader
	err       error
	times     batchTimes
	commands  []command
	grants    []queue.Grant
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
	state, err := queue.New(o.Queue, batch, from)
	if err != nil {
		return nil, fmt.Errorf("recover the shard: %w", err)
	}
	s := &Shard{
		store: store, state: state, waiting: map[queue.Ref][]*await{}, batch: batch, inbox: newInbox(load{tasks: o.InboxTasksMax, bytes: o.InboxBytesMax}), opts: o,
		pipe: make(chan decided, commitsMax), recycle: make(chan []command, commitsMax), done: make(chan struct{}),
	}
	if o.Replicate != nil {
		s.subs = map[*Subscription]struct{}{}
	}
	go s.decide()
	go s.release()
	return s, nil
}

// NowMs is the shard's time: Unix milliseconds.
func (s *Shard) NowMs() int64 { return s.opts.NowMs() }

// Close refuses further commands, carries out those that wait, and returns when their answers are out.
func (s *Shard) Close() {
	s.inbox.close(ErrClosed)
	<-s.done
	s.reading.Wait()
}

// decide is the deciding goroutine.
func (s *Shard) decide() {
	defer close(s.pipe)
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		commands, since, closed := s.inbox.take(s.spare())
		if len(commands) == 0 && s.idle() {
			if closed != nil && s.examining.Load() == 0 && (s.refilling == 0 || s.failure != nil) {
				s.end(closed)
				return
			}
			s.keep(commands)
			s.wait(timer)
			continue
		}
		// Let those who are about to send something do so: it goes into the same batch.
		runtime.Gosched()
		commands, later, _ := s.inbox.take(commands)
		if since == 0 {
			since = later
		}
		began := s.deciding.begin()
		for first := s.entry(commands); first < len(commands); first = s.entry(commands) {
			s.send(s.decideAll(append(s.spare(), commands[:first]...), since, began))
			commands, began = commands[first:], stages.Now()
		}
		s.send(s.decideAll(commands, since, began))
		s.deciding.end()
	}
}

// send hands decisions to the releasing goroutine.
func (s *Shard) send(d decided) {
	if d.err != nil {
		s.fail(d.err)
	}
	n := len(d.commands) // they are the releasing goroutine's from here on
	s.pipe <- d
	planted.Send(n)
}

// fail stops the shard: the state is ahead of what could be stored, so nothing more may be decided from it.
func (s *Shard) fail(err error) {
	lost := errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknownOutcome)
	if lost {
		s.inbox.close(&NotLeaderError{s.opts.Number})
	}
	s.inbox.close(ErrClosed)
	s.failed.Do(func() {
		if lost {
			s.opts.Log.Info("leadership is lost", "error", err)
		} else {
			s.opts.Log.Error("the shard failed and stops", "error", err)
		}
		if s.opts.Failed != nil {
			s.opts.Failed(err)
		}
	})
}

func (s *Shard) due() bool { return s.state.NextDeadlineMs() <= s.opts.NowMs() }

// wait returns when there may be a command to take or a deadline has passed.
func (s *Shard) wait(timer *time.Timer) {
	if s.opts.Space.Changes() != nil {
		timer.Reset(spaceWait)
	} else if next := s.state.NextDeadlineMs(); s.failure == nil && next != math.MaxInt64 {
		timer.Reset(time.Duration(next-s.opts.NowMs()) * time.Millisecond)
	}
	select {
	case <-s.inbox.wake:
	case <-timer.C:
	}
}

// decideAll decides commands of which the oldest came at since, from began on.
func (s *Shard) decideAll(commands []command, since, began time.Duration) decided {
	if s.failure != nil {
		commands = append(s.carried, commands...)
		s.carried = nil
		return decided{commands: commands, err: s.failure}
	}
	now, full := s.pass()
	for _, c := range commands {
		planted.Command()
		s.decideOrRefuse(c, now, full)
	}
	if len(s.carried) > 0 {
		commands = append(s.carried, commands...)
		s.carried = nil
	}
	d := decided{commands: commands, err: s.failure} // what a command had to read could not be made visible
	switch {
	case d.err != nil:
		s.leave(func(*Subscription) bool { return false })
	case full != nil:
		d.commands = s.carry(d.commands, false)
	default:
		d.grants = s.state.Dispatch(now, nil)
		d.commands = s.carry(d.commands, s.state.Exhausted())
	}
	d.early, s.early = s.early, nil
	d.commands = s.ended(d.commands)
	if d.err == nil {
		d.commands = s.answerFigures(d.commands, now)
	}
	d.committed = d.err == nil && (s.state.Flush() || !s.batch.Empty())
	d.times = batchTimes{since: since, began: began, decided: stages.Now()}
	if d.committed {
		planted.BeforeCommit()
		d.commit, d.err = s.batch.Submit()
		d.times.submitted = stages.Now()
		s.last = d.commit
	}
	if d.err == nil && !d.committed && len(d.early) == 0 && s.opts.Replicate != nil && answers(d.commands) {
		d.verified = s.opts.Replicate.Verify()
	}
	s.readSubmitted(d.err)
	if d.err == nil {
		d.commands = s.takeRefills(d.commands)
	}
	s.failure = d.err
	if s.opts.Turned != nil {
		s.opts.Turned(TurnStats{Items: s.state.Worked() + s.resolved, Took: stages.Now() - began})
	}
	s.resolved = 0
	return d
}

// carry ends the closed subscriptions, and returns the commands that this turn answers. Two kinds are answered by a later turn:
// the end of a subscription that stays, with the turn that has leased all ready tasks; and a purge that needs a Refill, so that
// its caller does not ask again and again meanwhile.
func (s *Shard) carry(commands []command, all bool) []command {
	if len(s.leaving) == 0 && s.refilling == 0 {
		return commands
	}
	stays := func(sub *Subscription) bool { return sub.waiter != nil && (all || s.state.Awaits(sub.waiter)) }
	commands = slices.DeleteFunc(commands, func(c command) bool {
		later := false
		switch c := c.(type) {
		case *poll:
			later = stays(c.sub)
		case *unsubscribe:
			later = stays(c.sub)
		case *query[Purged]:
			later = s.refilling > 0 && c.err == nil && c.out.More && c.out.Removed == 0
		}
		if later {
			s.carried = append(s.carried, c)
		}
		return later
	})
	s.leave(stays)
	return commands
}

// submit makes what was decided so far visible in the store, for a decision that must read it. Nothing is let
// out before the whole decision is durable.
func (s *Shard) submit() error {
	if err := s.propose(); err != nil {
		return err
	}
	return s.last.Visible()
}

func (s *Shard) propose() error {
	if !s.state.Flush() && s.batch.Empty() {
		return nil
	}
	commit, err := s.batch.Submit()
	if err != nil {
		return err
	}
	s.last = commit
	s.early = append(s.early, commit)
	return nil
}

// release is the releasing goroutine.
func (s *Shard) release() {
	defer close(s.done)
	var failed error // the first error of a commit
	for d := range s.pipe {
		d.times.taken = s.releasing.begin()
		partly := false // a part of the decisions took effect
		for _, c := range d.early {
			err := c.Wait()
			partly = partly || err == nil
			d.err = errors.Join(d.err, err)
			d.times.answering = stages.Now()
		}
		if d.committed && d.err == nil {
			d.err = d.commit.Wait()
			d.times.durable = stages.Now()
			if s.opts.Observe != nil {
				s.opts.Observe(CommitStats{Commands: len(d.commands), Wait: d.times.durable - d.times.decided})
			}
		}
		if d.verified != nil && d.err == nil {
			d.err = d.verified.Wait()
			d.times.answering = stages.Now()
		}
		if failed != nil && d.err == nil && !d.committed && len(d.early) == 0 { // decided after a decision whose commit failed
			if d.err = failed; s.opts.Replicate != nil {
				d.err = &NotLeaderError{s.opts.Number} // the command itself took no effect
			}
		}
		if partly {
			d.err = notRefused(d.err)
		}
		if d.err != nil {
			failed = cmp.Or(failed, d.err)
			s.fail(d.err)
		}
		for _, g := range d.grants { // before commands: a closing subscription gets its last tasks first
			s.deliver(g, d.err)
		}
		for _, c := range d.commands {
			planted.Receive()
			c.release(s, d.err)
		}
		if d.committed {
			planted.Commit()
		}
		s.keep(d.commands)
		s.releasing.end()
		s.observe(&d.times)
	}
}

func (s *Shard) deliver(g queue.Grant, err error) {
	sub := g.Waiter.Owner.(*Subscription) // only Subscribe makes waiters
	if err != nil {
		sub.fail(err)
		return
	}
	deliveries := g.Deliveries[:0]
	var missed int
	var missedBytes int64
	for _, d := range g.Deliveries {
		if !d.Cached {
			if err := s.read(&d); err != nil {
				if !errors.Is(err, ErrNotFound) { // cancelled meanwhile
					// The lease stands and expires in its time: nothing is lost.
					s.opts.Log.Error("a leased task could not be read", "queue", d.Queue.Name(), "seq", d.Seq, "error", err)
				}
				missed++
				missedBytes += int64(d.Bytes)
				continue
			}
		}
		deliveries = append(deliveries, d)
	}
	if len(deliveries) > 0 {
		sub.deliver(deliveries)
	}
	if missed > 0 && (!sub.claim.Once || len(deliveries) == 0) { // else it had its one grant
		sub.giveBack(missed, missedBytes)
	}
}

func (s *Shard) read(d *queue.Delivery) error {
	t, found, err := s.store.Task(d.Ref)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	d.EnqueuedAtMs, d.Payload = t.EnqueuedAtMs, t.Payload
	if d.Attempt > 1 {
		if d.LastError, err = s.store.LastError(d.Ref, d.Attempt-1); err != nil {
			return err
		}
	}
	return nil
}

// spare returns an empty command slice, one that was used before if there is one.
func (s *Shard) spare() []command {
	select {
	case c := <-s.recycle:
		return c
	default:
		return nil
	}
}

func (s *Shard) keep(c []command) {
	clear(c)
	select {
	case s.recycle <- c[:0]:
	default:
	}
}
