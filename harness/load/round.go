package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// round is the load of one round while it runs.
type round struct {
	cfg     Config
	ledgers []*ledger.Ledger // ledgers whose tasks progress counts
	caller  context.Context  // the context of Run's caller
	failure failure

	// calls is the context of sessions, enqueues and completions. claims is derived from calls, and
	// is the context of claims. aside is the context of hooks and progress reports.
	calls, claims, aside                   context.Context
	cancelCalls, cancelClaims, cancelAside context.CancelFunc

	producers []*producer
	slots     []*slot
	readers   []*reader
	reads     []*tenantReads // in the order of the tenants; nil without reads
	allReads  []*tenantReads // of all workloads of the round

	// The following fields are set before the launch.
	accounting
	phase  string // for progress; "" if the current time determines the phase
	sliced bool   // set for the load of Slices, which has both closed and open slices

	atWindowEnd uint64 // see Outcome.Outstanding
	draining    bool   // see Outcome.Draining

	startHook     HookTimes
	endHook       HookTimes
	producersDone <-chan struct{}
	slotsDone     <-chan struct{}
	readersDone   <-chan struct{}
	hooksDone     <-chan struct{}
	closePause    func() error // nil if there is no timer to close
	progressDone  <-chan struct{}
}

func newRound(ctx context.Context, cfg Config) *round {
	r := &round{cfg: cfg, caller: ctx, accounting: accounting{
		ledger: cfg.Ledger, slow: cfg.Slow, persist: cfg.Persist, untimed: cfg.Workload.ClaimsAlone(),
	}}
	r.calls, r.cancelCalls = context.WithCancel(ctx)
	r.claims, r.cancelClaims = context.WithCancel(r.calls)
	r.aside, r.cancelAside = context.WithCancel(ctx)
	r.failure.failed = make(chan struct{})
	r.failure.cancel = r.cancel
	if cfg.Hooks.Progress != nil {
		r.live = &live{}
	}
	return r
}

func (r *round) cancel() {
	r.cancelClaims()
	r.cancelCalls()
	r.cancelAside()
}

// open opens sessions and creates the producers and slots that use them. It calls the functions in
// kinds one after the other. It returns within openTimeout plus the margin.
func (r *round) open(kinds ...func() error) error {
	opened := make(chan error, 1)
	go func() {
		for _, kind := range kinds {
			if err := kind(); err != nil {
				opened <- err
				return
			}
		}
		opened <- nil
	}()
	timeout := time.NewTimer(openTimeout)
	defer timeout.Stop()
	select {
	case err := <-opened:
		return r.orCause(err)
	case <-r.caller.Done():
	case <-timeout.C:
	}
	late := fmt.Errorf("load: the sessions did not open within %v", openTimeout)
	r.cancel()
	margin := time.NewTimer(r.cfg.margin)
	defer margin.Stop()
	select {
	case err := <-opened:
		return r.orCause(errors.Join(late, err))
	case <-margin.C:
		return r.orCause(late)
	}
}

// orCause returns the reason why the caller stopped the round. If the caller has not stopped it,
// orCause returns err.
func (r *round) orCause(err error) error {
	if r.caller.Err() != nil {
		return fmt.Errorf("load: stopped: %w", context.Cause(r.caller))
	}
	return err
}

// place identifies a session. All producers or all slots with the same place share one session.
type place struct{ conn, tenant int }

func (r *round) openProducers() error {
	w := r.cfg.Workload
	tenants, queues := tenantsOf(w), names(QueueName, 0, w.QueuesOfTenant())

	placed := producerPlace
	if keys := newKeys(w); keys.chosen() {
		placed = keyedPlace
	}
	producing := make(map[place]driver.Producer)
	for i := range w.Producers {
		conn, routes := placed(i, w.Producers, w.Tenants, w.QueuesOfTenant(), len(r.cfg.Conns))
		var destinations []destination
		shares := make(map[int]*readShare)
		for _, to := range routes {
			at := place{conn, to.tenant}
			if producing[at] == nil {
				session, err := r.cfg.Conns[conn].Producer(r.calls, tenants[to.tenant])
				if err != nil {
					return fmt.Errorf("load: open a producer session for %s on connection %d: %w", tenants[to.tenant], conn, err)
				}
				producing[at] = session
			}
			if share := r.shareOf(to.tenant); share != nil && shares[to.tenant] == nil {
				shares[to.tenant] = share
			}
			destinations = append(destinations, destination{ledger.NewAddress(tenants[to.tenant], queues[to.queue]), producing[at], shares[to.tenant]})
		}
		p := newProducer(r, i, destinations)
		p.shares = slices.Collect(maps.Values(shares))
		r.producers = append(r.producers, p)
	}

	return nil
}

func (r *round) openSlots() error {
	w := r.cfg.Workload
	tenants, queues := tenantsOf(w), names(QueueName, 0, w.QueuesOfTenant())

	// claiming identifies a worker session. queue is set only if the session claims from a single
	// queue; otherwise it is 0.
	type claiming struct {
		place
		queue int
	}
	placed := func(slot int) claiming {
		conn, tenant := slotPlace(slot, w.Tenants, len(r.cfg.Conns))
		at := claiming{place: place{conn, tenant}}
		if w.QueuePerWorker {
			at.queue = slot / w.Tenants
		}
		return at
	}
	slots := make(map[claiming]int)
	for i := range w.Workers {
		slots[placed(i)]++
	}
	working := make(map[claiming]driver.Worker)
	for i := range w.Workers {
		at := placed(i)
		conn, tenant := at.conn, at.tenant
		if working[at] == nil {
			from := queues
			if w.QueuePerWorker {
				from = queues[at.queue : at.queue+1]
			}
			session, err := r.cfg.Conns[conn].Worker(r.calls, tenants[tenant], from, slots[at]*w.ClaimBatch())
			if err != nil {
				return fmt.Errorf("load: open a worker session for %s on connection %d: %w", tenants[tenant], conn, err)
			}
			working[at] = session
		}
		s, err := newSlot(r, i, tenants[tenant], working[at])
		if err != nil {
			return err
		}
		r.slots = append(r.slots, s)
	}
	return nil
}

// plan sets the clock and the window of the round, and creates the in-flight limit or the schedule
// of the load.
func (r *round) plan(warmup *warmup) error {
	r.clock, r.window = warmup.clock, warmup.window
	r.volume = newVolume(r.cfg, func() {
		now := r.clock.now()
		r.window.endAt(now, now+int64(r.cfg.Phases.Drain))
	})
	w := r.cfg.Workload
	if w.Arrivals.Kind == scenario.Closed && w.InFlight > 0 {
		r.limit = newInFlightLimit(w.InFlight, w.EnqueueBatch())
	}
	if !w.Arrivals.Timed() {
		return nil
	}
	pause, err := r.newPause()
	if err != nil {
		return err
	}
	r.schedule = newSchedule(r.clock, w.InFlight, pause)
	r.schedule.begin(0, r.window.span(), newPacer(w.Arrivals))
	return nil
}

// newPause returns the timer that producers use to wait for the next due task. The method stop
// closes the timer.
func (r *round) newPause() (pauser, error) {
	if r.cfg.pause != nil {
		return r.cfg.pause, nil
	}
	kernel, err := newKernelPause(r.calls)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	r.closePause = kernel.close
	return kernel, nil
}

func (r *round) launch() {
	r.start(func(p *producer) {
		if r.schedule != nil {
			p.runOpen(r.calls, r.schedule)
			return
		}
		p.runClosed(r.calls)
	})
}

func (r *round) start(produce func(*producer)) {
	var hooks, progress, slots, producers, readers sync.WaitGroup
	hooks.Go(func() { r.callHooks(r.aside) })
	if r.cfg.Hooks.Progress != nil {
		progress.Go(func() { r.reportProgress(r.aside) })
	}
	if r.schedule != nil {
		progress.Go(func() { r.schedule.beat.run(r.aside, r.clock) })
	}
	for _, s := range r.slots {
		slots.Go(func() { s.work(r.claims, r.calls) })
	}
	for _, p := range r.producers {
		producers.Go(func() { produce(p) })
	}
	for _, reader := range r.readers {
		readers.Go(func() { reader.run(r.calls) })
	}
	if r.reads != nil {
		readers.Go(func() {
			producers.Wait()
			for _, reads := range r.reads {
				for _, waiting := range reads.waiting {
					close(waiting)
				}
			}
		})
	}
	r.hooksDone, r.progressDone = finished(&hooks), finished(&progress)
	r.slotsDone, r.producersDone, r.readersDone = finished(&slots), finished(&producers), finished(&readers)
}

func finished(group *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	return done
}

// conduct waits for the window's end and the drain. It reports whether the load drained.
func (r *round) conduct() (drained bool) {
	if !r.wait(r.window.known, r.window.deadline()) {
		return false
	}
	if r.limit != nil {
		r.limit.closeIn(r.clock.until(r.window.end()))
	}
	if r.volume != nil {
		if r.wait(r.window.cut, r.window.end()); r.ending() {
			return false
		}
		if r.limit != nil {
			r.limit.close()
		}
	}
	if !r.wait(r.producersDone, r.window.deadline()) {
		return false
	}
	// A producer that has nothing left to send returns before the window ends.
	if r.wait(nil, r.window.end()); r.ending() {
		return false
	}
	r.atWindowEnd = r.cfg.Ledger.Outstanding()
	return r.cfg.Workload.EnqueuesAlone() || r.drain()
}

// drain waits until no task is outstanding. It returns false if the deadline is reached first.
func (r *round) drain() bool {
	poll, up := time.NewTicker(drainPoll), time.NewTimer(r.clock.until(r.window.deadline()))
	defer poll.Stop()
	defer up.Stop()
	rest := remainder{persist: r.cfg.Persist, restored: r.cfg.Ledger.Restored()}
	for !rest.none(r.cfg.Ledger.Totals(), time.Now()) {
		select {
		case <-poll.C:
		case <-up.C:
			totals := r.cfg.Ledger.Totals()
			drained := totals.Outstanding == 0 || r.cfg.Persist && totals.Outstanding == totals.Doubtful
			r.draining = !drained && rest.moving(time.Now())
			return drained
		case <-r.failure.failed:
			return false
		case <-r.caller.Done():
			r.failure.set(r.orCause(nil))
			return false
		}
	}
	return true
}

// remainder tracks the tasks that a drain waits for.
type remainder struct {
	persist bool
	// restored is set if the ledger may not know all tasks. Then zero outstanding tasks do not
	// prove that the server is empty.
	restored  bool
	completed uint64
	since     time.Time // when completed last changed
	moved     bool      // whether completed has changed since the first check
}

// none reports whether the drain need not wait any longer.
func (r *remainder) none(t ledger.Totals, now time.Time) bool {
	if t.Outstanding == 0 && !r.restored {
		return true
	}
	if r.since.IsZero() || t.Completed != r.completed {
		r.moved = !r.since.IsZero()
		r.completed, r.since = t.Completed, now
	}
	return r.persist && t.Outstanding == t.Doubtful && now.Sub(r.since) >= drainQuiet
}

func (r *remainder) moving(now time.Time) bool { return r.moved && now.Sub(r.since) < drainQuiet }

func (r *round) ending() bool { return r.failure.err() != nil || r.caller.Err() != nil }

// wait waits for done. It returns false if the deadline is reached or the round fails first.
func (r *round) wait(done <-chan struct{}, deadline int64) bool {
	timer := time.NewTimer(r.clock.until(deadline))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-r.failure.failed:
	case <-r.caller.Done():
		r.failure.set(r.orCause(nil))
	case <-timer.C:
	}
	return false
}

// stop ends the remaining goroutines. It returns false if some of them did not end in time.
func (r *round) stop(drained bool) bool {
	r.cancelClaims()
	if drained {
		// A completion that is still in flight belongs to a task that was already completed. Its
		// answer is needed: an acknowledgement would make the task a duplicate.
		r.wait(r.slotsDone, r.clock.now()+int64(r.cfg.margin))
		// The answers of reads are needed too.
		r.wait(r.readersDone, r.clock.now()+int64(r.cfg.margin))
	}
	r.cancelCalls()
	last := r.window.deadline() + int64(r.cfg.margin)
	if !r.wait(r.hooksDone, last) && !r.ending() {
		r.failure.set(fmt.Errorf("load: a hook did not return within %v after the drain's deadline", r.cfg.margin))
	}
	r.cancelAside()

	timer := time.NewTimer(r.cfg.margin)
	defer timer.Stop()
	for _, done := range []<-chan struct{}{r.producersDone, r.slotsDone, r.readersDone, r.hooksDone, r.progressDone} {
		select {
		case <-done:
		case <-timer.C:
			return false
		}
	}
	if r.limit != nil && r.limit.finish != nil {
		r.limit.finish.Stop()
	}
	if r.closePause != nil {
		if err := r.closePause(); err != nil {
			r.failure.set(fmt.Errorf("load: close the schedule's timer: %w", err))
		}
	}
	return true
}

// merge combines the records of all producers, slots and readers. All of them must have ended.
func (r *round) merge() *Outcome {
	o := r.newOutcome(time.Duration(r.window.end() - r.window.start()))
	o.StartHook, o.EndHook = r.startHook, r.endHook
	for _, p := range r.producers {
		p.record.mergeInto(o)
		o.RefusedEnqueues.Add(p.keying.refused)
		o.FailedCalls.Add(p.again.failed)
	}
	if !r.cfg.Workload.Delay.IsZero() && r.cfg.Workload.Workers > 0 {
		o.Late = result.NewHistogram()
	}
	if r.cfg.Workload.ExtendsLeases() {
		o.Extend = result.NewHistogram()
	}
	if r.cfg.Workload.CancelsTasks() {
		o.Cancel = result.NewHistogram()
	}
	for _, s := range r.slots {
		s.record.mergeInto(o)
		if o.Cancel != nil {
			o.Clamped += s.cancelling.latency.mergeInto(o.Cancel)
		}
		if o.Extend != nil {
			o.Clamped += s.extending.latency.mergeInto(o.Extend)
		}
		if o.Late != nil {
			o.Clamped += s.record.late.mergeInto(o.Late)
		}
		o.FailedCalls.Add(s.again.failed)
	}
	o.TenantCycles = r.cyclesOfTenants()
	r.mergeReads(o)
	r.mergeOpen(o)
	return o
}
