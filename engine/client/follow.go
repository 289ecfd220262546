package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
)

// linked is the interface through which a follower uses a link.
type linked interface {
	comparable
	node() leader
	at() string             // returns the address
	leave()                 // ends the link after its active calls
	cut()                   // ends the link immediately
	ended() <-chan struct{} // returns a channel that is closed when the link has ended
	reason() error          // returns the reason why the link ended
}

// follower owns the links of a session. There is one link to each node that leads, or one link to a
// server without a cluster. Only the keeper goroutine changes the links. It reopens broken links
// until the session ends.
type follower[L linked] struct {
	client *Client
	ctx    context.Context // the session's context
	cancel context.CancelFunc
	// open opens a link to one of the nodes that lead. The link ends when ctx ends.
	open func(ctx context.Context, to leader, all []leader) (L, error)
	// balance is called after each change of the links, and regularly while it returns true. It may
	// retire a link. It may be nil.
	balance func(all []leader, links []L) (again bool)
	// starved is called each time that no link was open for the retry time. It may be nil.
	starved func(error)
	// ended is called when the session ends before Close was called. It may be nil.
	ended func(error)

	links  atomic.Pointer[[]L] // the links for new calls; the list is immutable
	turn   atomic.Uint32
	wake   chan struct{} // contains an element when a link has ended
	stop   chan struct{} // closed when the session is closed
	failed chan struct{} // closed when the session ends before Close was called
	over   chan struct{} // closed when the session has ended
	tried  chan struct{} // closed when the keeper has its first error
	once   sync.Once

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when the links change
	lastErr error         // the keeper's last error
	err     error         // the reason why the session ended; set before over is closed

	// The keeper owns the following fields.
	unwatch   func() // stops watching the routes; nil if they are not watched
	leaving   []L
	opening   []leader
	opened    chan opened[L]
	began     bool // true once a link was open
	pace      pace
	stale     bool // true if the routes must be requested again
	lastErrAt time.Time
	notBefore time.Time // earliest time of the next try
	since     time.Time // time when the last link ended; zero while there is a link
}

type opened[L linked] struct {
	to   leader
	link L
	err  error
}

func newFollower[L linked](ctx context.Context, c *Client) *follower[L] {
	f := &follower[L]{
		client: c, wake: make(chan struct{}, 1), stop: make(chan struct{}), failed: make(chan struct{}), over: make(chan struct{}),
		tried: make(chan struct{}), changed: make(chan struct{}), opened: make(chan opened[L]),
	}
	f.pace.of = &c.timing
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.links.Store(&[]L{})
	return f
}

// start starts the keeper and waits for the first link. It returns an error if the session ends, or
// if no link opens within the retry time and at least one try has failed.
func (f *follower[L]) start() error {
	go f.keep()
	first := time.NewTimer(f.client.retryMax)
	defer first.Stop()
	var tried <-chan struct{} // nil until the retry time has passed
	for {
		links, changed := f.current()
		if len(links) > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-f.over:
			err := f.why()
			// The error of a context does not explain why the links did not open.
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				err = fmt.Errorf("%w; the last try: %w", err, f.problem())
			}
			return err
		case <-first.C:
			tried = f.tried
		case <-tried:
			err := fmt.Errorf("%w for %v: %w", ErrUnavailable, f.client.retryMax, f.problem())
			f.cancel()
			<-f.over
			return err
		}
	}
}

func (f *follower[L]) current() ([]L, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.links.Load(), f.changed
}

// pick returns the links in turn: one link for each call.
func (f *follower[L]) pick() (l L, ok bool) {
	links := *f.links.Load()
	switch len(links) {
	case 0:
		return l, false
	case 1:
		return links[0], true
	}
	return links[int(f.turn.Add(1))%len(links)], true
}

func (f *follower[L]) closing() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// toward returns the link to the node with the given address, which comes from a server's refusal.
// If the address is "", toward returns the next link.
func (f *follower[L]) toward(address string) (l L, ok bool) {
	if address == "" {
		return f.pick()
	}
	for _, l := range *f.links.Load() {
		if l.node().named == address || l.at() == address {
			return l, true
		}
	}
	return l, false
}

// linkEnded wakes the keeper. It must be called after a link has ended.
func (f *follower[L]) linkEnded() { signal.Send(f.wake) }

func (f *follower[L]) publish(links []L) {
	if len(links) == 0 && f.since.IsZero() {
		f.since = time.Now()
	} else if len(links) > 0 {
		f.since = time.Time{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links.Store(&links)
	close(f.changed)
	f.changed = make(chan struct{})
}

// problem returns the follower's last error. If there was no error yet, it returns one about the
// missing leader.
func (f *follower[L]) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastErr == nil {
		return errors.New("no leader is known")
	}
	return f.lastErr
}

func (f *follower[L]) why() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// keep is the keeper goroutine. It returns when the session ends.
func (f *follower[L]) keep() {
	if len(f.client.seeds) > 1 {
		f.unwatch = f.client.routing.follow()
	}
	defer func() {
		if f.unwatch != nil {
			f.unwatch()
		}
	}()
	var end error
	wait := time.NewTimer(0)
	defer wait.Stop()
	for end == nil {
		_, routes := f.client.routing.current()
		next, err := f.maintain()
		if err != nil {
			end = err
			break
		}
		wait.Reset(next)
		select {
		case <-f.ctx.Done():
			end = fmt.Errorf("the session's context has ended: %w", f.ctx.Err())
		case <-f.stop:
			end = ErrClosed
		case <-f.wake:
		case <-routes: // a node has announced a change, so no request and no pause are needed
			f.stale, f.notBefore, f.pace.wait = false, time.Time{}, 0
		case o := <-f.opened:
			f.take(o)
		case <-wait.C:
		}
	}
	f.finish(end)
}

// close ends the session after its active calls. If ctx ends first, it ends the session
// immediately.
func (f *follower[L]) close(ctx context.Context) error {
	f.markClosing()
	select {
	case <-f.over:
		return nil
	case <-ctx.Done():
		f.cancel()
		<-f.over
		return fmt.Errorf("close the session: %w", ctx.Err())
	}
}

// markClosing makes closing return true and makes the keeper end the session.
func (f *follower[L]) markClosing() { f.once.Do(func() { close(f.stop) }) }

// broke reports whether the session ended before Close was called.
func (f *follower[L]) broke() bool { return !errors.Is(f.why(), ErrClosed) }

// finish ends the session. If Close was called, it first waits for active calls.
func (f *follower[L]) finish(end error) {
	f.leaving = append(f.leaving, *f.links.Load()...)
	f.publish(nil)
	for _, l := range f.leaving {
		l.leave()
	}
	f.mu.Lock()
	f.err = end
	f.mu.Unlock()
	if !errors.Is(end, ErrClosed) {
		close(f.failed)
		if f.ended != nil {
			f.ended(end)
		}
		f.cancel()
	}
	for range len(f.opening) {
		o := <-f.opened
		if o.err == nil {
			o.link.leave()
			f.leaving = append(f.leaving, o.link)
		}
	}
	for _, l := range f.leaving {
		<-l.ended()
	}
	f.cancel()
	close(f.over)
}

// maintain removes ended links and opens missing ones. It returns the maximum time until maintain
// must be called again. An error ends the session.
func (f *follower[L]) maintain() (time.Duration, error) {
	if f.client.isClosed() {
		return 0, errors.New("the client was closed before the session")
	}
	f.leaving = slices.DeleteFunc(f.leaving, func(l L) bool { return hasEnded(l) })
	links := slices.Clone(*f.links.Load())
	var fatal error
	links = slices.DeleteFunc(links, func(l L) bool {
		if !hasEnded(l) {
			return false
		}
		err := fmt.Errorf("%s: %w", l.at(), l.reason())
		if isFinal(l.reason()) {
			fatal = err
		}
		f.noteError(err)
		return true
	})
	if fatal != nil {
		return 0, fatal
	}
	if len(links) < len(*f.links.Load()) {
		f.publish(links)
	}
	if !f.since.IsZero() && time.Since(f.since) > f.client.retryMax {
		f.since = time.Now()
		if f.starved != nil {
			f.starved(fmt.Errorf("%w for %v: %w", ErrUnavailable, f.client.retryMax, f.problem()))
		}
	}
	if wait := time.Until(f.notBefore); wait > 0 {
		return wait, nil
	}
	return f.maintainLinks(links)
}

func hasEnded[L linked](l L) bool {
	select {
	case <-l.ended():
		return true
	default:
		return false
	}
}

// maintainLinks opens missing links and retires links to nodes that no longer lead. It returns the
// results of maintain.
func (f *follower[L]) maintainLinks(links []L) (time.Duration, error) {
	t, _ := f.client.routing.current()
	if f.stale || t == nil || !t.complete() {
		asked, err := f.client.routing.ask(f.ctx)
		// With a single seed, open a stream anyway: it will show whether the server refuses the
		// session too.
		if err != nil && isFinal(err) && len(f.client.seeds) == 1 {
			asked, err = &table{alone: true, leaders: []leader{{address: f.client.seeds[0]}}}, nil
		}
		if err != nil {
			f.noteError(err)
			// If a link was open before, continue: the server may get a valid certificate again.
			if isHandshakeRefused(err) && !f.began {
				return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			return max(time.Millisecond, time.Until(f.notBefore)), nil
		}
		t, f.stale = asked, false
	}
	if !t.alone && f.unwatch == nil { // the routes of a server without a cluster never change
		f.unwatch = f.client.routing.follow()
	}
	all := t.nodes()
	if t.complete() {
		f.drop(all, links)
	}
	again := f.balance != nil && f.balance(all, *f.links.Load())
	for _, to := range f.missing(all, links) {
		f.opening = append(f.opening, to)
		go func() {
			l, err := f.open(f.ctx, to, all)
			f.opened <- opened[L]{to, l, err}
		}()
	}
	switch {
	case !t.complete():
		f.noteError(errors.New("not every shard has a leader"))
		return max(time.Millisecond, time.Until(f.notBefore)), nil
	case again:
		return f.client.timing.balanceEvery, nil
	}
	return time.Hour, nil // either an event comes first, or there is nothing to do
}

// missing returns the leading nodes without a link that is open or being opened.
func (f *follower[L]) missing(all []leader, links []L) (out []leader) {
	for _, to := range all {
		at := func(l L) bool { return l.node().same(to) }
		if !slices.ContainsFunc(links, at) && !slices.ContainsFunc(f.leaving, at) && !slices.ContainsFunc(f.opening, to.same) {
			out = append(out, to)
		}
	}
	return out
}

// drop retires the links to nodes that no longer lead, if there is at least one link to a node that
// leads.
func (f *follower[L]) drop(all []leader, links []L) {
	wanted := func(l L) bool { return slices.ContainsFunc(all, l.node().same) }
	if !slices.ContainsFunc(links, wanted) {
		return
	}
	for _, l := range links {
		if !wanted(l) {
			f.retire(l)
		}
	}
}

// retire stops using a link for new calls, and closes it after its active calls.
func (f *follower[L]) retire(l L) {
	f.publish(slices.DeleteFunc(slices.Clone(*f.links.Load()), func(o L) bool { return o == l }))
	f.leaving = append(f.leaving, l)
	l.leave()
	time.AfterFunc(f.client.timing.leaveMax, l.cut)
}

// take adds an opened link. If the link could not be opened, take records the error.
func (f *follower[L]) take(o opened[L]) {
	f.opening = slices.DeleteFunc(f.opening, o.to.same)
	if o.err != nil {
		f.noteError(o.err)
		return
	}
	f.began = true
	f.publish(append(slices.Clone(*f.links.Load()), o.link))
}

// noteError records an error of a link and makes the keeper request the routes again. The keeper
// does so immediately if there was no error for some time, and otherwise after growing pauses.
func (f *follower[L]) noteError(err error) {
	f.mu.Lock()
	if f.lastErr == nil {
		close(f.tried)
	}
	// The end of the session's context does not explain why the tries before it failed.
	if f.lastErr == nil || f.ctx.Err() == nil {
		f.lastErr = err
	}
	f.mu.Unlock()
	now := time.Now()
	f.stale = true
	if now.Sub(f.lastErrAt) > f.client.timing.calm {
		f.pace.wait = 0
		f.notBefore = now
	} else if now.After(f.notBefore) {
		f.notBefore = now.Add(min(f.pace.next(), f.client.timing.keeperWaitMax))
	}
	f.lastErrAt = now
}
