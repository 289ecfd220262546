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

// linked is what a follower needs of a link.
type linked interface {
	comparable
	node() leader
	at() string             // the address
	leave()                 // lets the calls under way end, and then the link
	cut()                   // ends the link now
	ended() <-chan struct{} // closed when it has ended
	reason() error          // why, then
}

// follower keeps the links of a session: one to each node that leads. One goroutine, the keeper, changes them. Of a
// server that stands alone there is one link, no keeper, and the session ends with the link.
type follower[L linked] struct {
	client *Client
	ctx    context.Context // the session's
	cancel context.CancelFunc
	// open opens a link to one of the nodes that lead; ctx is the link's.
	open func(ctx context.Context, to leader, all []leader) (L, error)
	// balance is called after each change, and regularly: it tells whether it wants to be. It may make a link leave.
	balance func(all []leader, links []L) (again bool)
	// starved is called when there has been no link for the retry time, and again each time that passes.
	starved func(error)
	// ended is called when the session ends without having been closed; may be nil, as balance and starved may.
	ended func(error)
	alone bool // of a server that stands alone

	links  atomic.Pointer[[]L] // where calls go; the list is not changed
	turn   atomic.Uint32
	poked  chan struct{} // has an element when a link has ended
	stop   chan struct{} // closed when the session is closed
	failed chan struct{} // closed when the session ends without having been closed
	over   chan struct{} // closed when the session has ended
	once   sync.Once

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when links change
	trouble error         // that the keeper last had
	err     error         // why the session ended; set before over is closed

	// The keeper's.
	leaving   []L
	opening   []leader
	opened    chan opened[L]
	pace      pace
	stale     bool      // the routes are to be asked for
	upsetAt   time.Time // when there last was trouble
	notBefore time.Time // when to try again
	since     time.Time // since when there is no link; zero while there is one
}

// opened is what came of opening a link.
type opened[L linked] struct {
	to   leader
	link L
	err  error
}

func newFollower[L linked](ctx context.Context, c *Client) *follower[L] {
	f := &follower[L]{
		client: c, poked: make(chan struct{}, 1), stop: make(chan struct{}), failed: make(chan struct{}), over: make(chan struct{}),
		changed: make(chan struct{}), opened: make(chan opened[L]),
	}
	f.pace.of = &c.rhythm
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.links.Store(&[]L{})
	return f
}

// start opens the first links, and returns an error if there was none within the retry time.
func (f *follower[L]) start() error {
	t, err := f.routes()
	if err != nil {
		f.cancel()
		return err
	}
	if f.alone = t.alone && !f.client.follows; f.alone {
		all := t.nodes()
		l, err := f.open(f.ctx, all[0], all[:1])
		if err != nil {
			f.cancel()
			return err
		}
		f.links.Store(&[]L{l})
		return nil
	}
	f.client.only.Store(nil)
	go f.keep()
	first := time.NewTimer(f.client.retryMax)
	defer first.Stop()
	for {
		links, changed := f.current()
		if len(links) > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-f.over:
			return f.why()
		case <-first.C:
			err := fmt.Errorf("%w for %v: %w", ErrUnavailable, f.client.retryMax, f.problem())
			f.cancel()
			<-f.over
			return err
		}
	}
}

// routes asks for the routes the first time. A client that does not follow gets one address's answer or error; what
// that address refuses, it may refuse again on a stream.
func (f *follower[L]) routes() (*table, error) {
	if t, _ := f.client.routing.current(); t != nil {
		return t, nil
	}
	if f.client.follows {
		return &table{}, nil // the keeper asks, and goes on asking
	}
	t, err := f.client.routing.ask(f.ctx)
	if err != nil && isFinal(err) {
		return &table{alone: true, leaders: []leader{{address: f.client.seeds[0]}}}, nil
	}
	return t, err
}

func (f *follower[L]) current() ([]L, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.links.Load(), f.changed
}

// pick returns the link that a call goes to: one after the other.
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

// closing tells whether the session was closed.
func (f *follower[L]) closing() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// toward returns the link to an address as a server names it, or with "" the next one.
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

// linkEnded tells the keeper that a link has ended.
func (f *follower[L]) linkEnded() {
	if f.alone {
		f.cancel()
	}
	signal.Send(f.poked)
}

// publish changes where calls go.
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

// problem is why there is no link, or was none.
func (f *follower[L]) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trouble == nil {
		return errors.New("no node is known to lead")
	}
	return f.trouble
}

// why is why the session ended.
func (f *follower[L]) why() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// keep is the keeper: it returns when the session ends.
func (f *follower[L]) keep() {
	unfollow := f.client.routing.follow()
	defer unfollow()
	var end error
	wait := time.NewTimer(0)
	defer wait.Stop()
	for end == nil {
		_, routes := f.client.routing.current()
		next, err := f.tend()
		if err != nil {
			end = err
			break
		}
		wait.Reset(next)
		select {
		case <-f.ctx.Done():
			end = unknownOutcome(f.ctx.Err())
		case <-f.stop:
			end = ErrClosed
		case <-f.poked:
		case <-routes:
		case o := <-f.opened:
			f.take(o)
		case <-wait.C:
		}
	}
	f.finish(end)
}

// close ends the session once the calls under way have ended; when ctx ends first, at once.
func (f *follower[L]) close(ctx context.Context) error {
	f.markClosing()
	over := (<-chan struct{})(f.over)
	if f.alone {
		l := (*f.links.Load())[0]
		l.leave()
		over = l.ended()
	}
	defer f.cancel()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		f.cancel()
		<-over
		return fmt.Errorf("close the session: %w", ctx.Err())
	}
}

// markClosing lets closing return true, and the keeper end the session.
func (f *follower[L]) markClosing() { f.once.Do(func() { close(f.stop) }) }

// broke tells of a session that has ended whether that was without having been closed.
func (f *follower[L]) broke() bool {
	err := f.why()
	if f.alone {
		err = (*f.links.Load())[0].reason()
	}
	return !errors.Is(err, ErrClosed)
}

// finish ends the session: in order if it is closed, at once otherwise.
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

// tend looks after the links, and returns when to do so again at the latest. An error ends the session.
func (f *follower[L]) tend() (time.Duration, error) {
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
		f.upset(err)
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
	return f.tendNodes(links), nil
}

func hasEnded[L linked](l L) bool {
	select {
	case <-l.ended():
		return true
	default:
		return false
	}
}

// tendNodes opens the links that are missing and gives up those that are not wanted any more.
func (f *follower[L]) tendNodes(links []L) time.Duration {
	t, _ := f.client.routing.current()
	if f.stale || t == nil || !t.complete() {
		asked, err := f.client.routing.ask(f.ctx)
		if err != nil {
			f.upset(err)
			return max(time.Millisecond, time.Until(f.notBefore))
		}
		t, f.stale = asked, false
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
		f.upset(errors.New("not every shard has a leader"))
		return max(time.Millisecond, time.Until(f.notBefore))
	case again:
		return f.client.rhythm.balanceEvery
	}
	return time.Hour // something happens before, or nothing needs to be done
}

// missing returns the nodes that lead, and that there is no link to and none being opened.
func (f *follower[L]) missing(all []leader, links []L) (out []leader) {
	for _, to := range all {
		at := func(l L) bool { return l.node().same(to) }
		if !slices.ContainsFunc(links, at) && !slices.ContainsFunc(f.leaving, at) && !slices.ContainsFunc(f.opening, to.same) {
			out = append(out, to)
		}
	}
	return out
}

// drop lets the links leave whose nodes lead nothing any more, once there is a link to one that does.
func (f *follower[L]) drop(all []leader, links []L) {
	wanted := func(l L) bool { return slices.ContainsFunc(all, l.node().same) }
	if !slices.ContainsFunc(links, wanted) {
		return
	}
	for _, l := range links {
		if !wanted(l) {
			f.letGo(l)
		}
	}
}

// letGo lets a link leave: no further calls go to it.
func (f *follower[L]) letGo(l L) {
	f.publish(slices.DeleteFunc(slices.Clone(*f.links.Load()), func(o L) bool { return o == l }))
	f.leaving = append(f.leaving, l)
	l.leave()
	time.AfterFunc(f.client.rhythm.leaveMax, l.cut)
}

// take takes over what came of opening a link.
func (f *follower[L]) take(o opened[L]) {
	f.opening = slices.DeleteFunc(f.opening, o.to.same)
	if o.err != nil {
		f.upset(o.err)
		return
	}
	f.publish(append(slices.Clone(*f.links.Load()), o.link))
}

// upset notes trouble: the routes are asked for anew, at once if it was calm before, and later each time otherwise.
func (f *follower[L]) upset(err error) {
	f.mu.Lock()
	f.trouble = err
	f.mu.Unlock()
	now := time.Now()
	f.stale = true
	if now.Sub(f.upsetAt) > f.client.rhythm.calm {
		f.pace.wait = 0
		f.notBefore = now
	} else if now.After(f.notBefore) {
		f.notBefore = now.Add(min(f.pace.next(), f.client.rhythm.keeperWaitMax))
	}
	f.upsetAt = now
}
