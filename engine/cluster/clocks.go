package cluster

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/replica"
)

const (
	// clockEvery is how often a node queries the times of the other nodes and checks whether it may
	// lead.
	clockEvery = 500 * time.Millisecond
	// clockAnswerMax is the maximum wait for an answer, and the maximum age of an answer that is
	// used.
	clockAnswerMax = 2 * time.Second
	// clockQuestionsMax is the maximum number of successive queries to a node. The most precise
	// answer is used. If an answer's error is at most clockPrecise, there are no further queries.
	clockQuestionsMax = 3
	clockPrecise      = time.Millisecond
)

// clocks stores the estimates of the other nodes' clocks, and decides whether this node's clock
// allows it to lead. Its methods are safe for concurrent use.
type clocks struct {
	groups     *groups
	peers      *peers
	opened     <-chan struct{} // closed once the replicas are set
	background *background
	log        *slog.Logger
	clock      *clock.Clock
	skewMax    time.Duration // from the median; 0: leading does not depend on clocks

	refused atomic.Pointer[clockRefusal] // why this node must not lead; nil if it may lead

	mu        sync.Mutex
	estimates map[string]*peerClock // by node
	changed   chan struct{}         // closed and replaced after each answer
}

// peerClock is the estimate of one node's clock.
type peerClock struct {
	stop     context.CancelFunc
	again    chan struct{} // contains an element when the node should be queried immediately
	answered bool
	estimate clock.Estimate
}

func newClocks(k *Cluster) *clocks {
	return &clocks{
		groups: k.groups, peers: k.peers, opened: k.opened, background: k.background, log: k.log, clock: k.config.Clock, skewMax: k.config.ClockSkewMax,
		estimates: map[string]*peerClock{}, changed: make(chan struct{}),
	}
}

// watch queries the other nodes' times until ctx ends. It makes the replicas check again whether
// this node may lead.
func (c *clocks) watch(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		c.follow(ctx)
		c.check()
		if c.refused.Load() != nil {
			for _, r := range c.groups.replicas {
				r.Review()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// follow starts a goroutine that queries each new member. It stops the goroutines for members that
// were removed.
func (c *clocks) follow(ctx context.Context) {
	members, _ := c.groups.currentMembers()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range members {
		if c.estimates[id] == nil && id != c.groups.node {
			ctx, cancel := context.WithCancel(ctx)
			p := &peerClock{stop: cancel, again: make(chan struct{}, 1)}
			c.estimates[id] = p
			c.background.Go(func() { c.queryPeriodically(ctx, id, p) })
		}
	}
	for id, p := range c.estimates {
		if _, still := members[id]; !still {
			p.stop()
			delete(c.estimates, id)
		}
	}
}

func (c *clocks) queryPeriodically(ctx context.Context, id string, p *peerClock) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		c.query(ctx, id, p)
		select {
		case <-ctx.Done():
			return
		case <-p.again:
		case <-tick.C:
		}
	}
}

// query queries a node's time up to clockQuestionsMax times. If the node does not answer or does
// not support the call, the last estimate remains.
func (c *clocks) query(ctx context.Context, id string, p *peerClock) {
	conn, err := c.peers.conn(id)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, clockAnswerMax)
	defer cancel()
	var best time.Duration
	for i := range clockQuestionsMax {
		asked := c.clock.Mono()
		out, err := peerpb.NewPeerServiceClient(conn).ReadClock(ctx, &peerpb.ReadClockRequest{})
		if err != nil {
			return
		}
		answered := c.clock.Mono()
		e := clock.Measured(asked, answered, out.GetUnixNs())
		if _, wrong := e.At(answered); i == 0 || wrong < best {
			best = wrong
			c.note(p, e)
		}
		if best <= clockPrecise {
			return
		}
	}
}

func (c *clocks) note(p *peerClock, e clock.Estimate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.answered, p.estimate = true, e
	close(c.changed)
	c.changed = make(chan struct{})
}

// skew is the difference between another node's clock and this node's clock.
type skew struct {
	ahead, wrong time.Duration // the other clock minus this clock; the maximum error
	asked        int64         // when the query was sent, in ns of this node's monotonic clock
}

// skews returns the skews of the nodes that have answered in time, and a channel that is closed
// when the next answer arrives.
func (c *clocks) skews() (map[string]skew, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono, now := c.clock.Now()
	out := map[string]skew{}
	for id, p := range c.estimates {
		if p.answered && mono-p.estimate.Asked <= int64(clockAnswerMax) {
			is, wrong := p.estimate.At(mono)
			out[id] = skew{ahead: time.Duration(is - now), wrong: wrong, asked: p.estimate.Asked}
		}
	}
	return out, c.changed
}

// view returns what this node knows of the voters' clocks now.
func (c *clocks) view() clockView {
	skews, _ := c.skews()
	_, voters := c.groups.currentMembers()
	return newClockView(c.groups.node, c.skewMax, voters, skews)
}

func (c *clocks) check() {
	if refused, known := c.view().refusal(); known {
		c.decide(refused)
	}
}

func (c *clocks) decide(refused *clockRefusal) {
	before := c.refused.Swap(refused)
	switch {
	case before == nil && refused != nil:
		c.log.Warn("this node must not lead", "reason", refused)
	case before != nil && refused == nil:
		c.log.Info("the clock allows this node to lead again")
	}
}

var _ replica.Permission = (*clocks)(nil)

// Refused implements replica.Permission.
func (c *clocks) Refused() error {
	if r := c.refused.Load(); r != nil {
		return r
	}
	return nil
}

// Renew implements replica.Permission. Before a node leads, it waits for new answers from a
// majority. So a node that has just started or was suspended does not lead based on outdated
// estimates. It waits for at most clockAnswerMax, because the nodes that answer Raft's messages may
// not answer these queries.
func (c *clocks) Renew(ctx context.Context) error {
	if c.skewMax == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clockAnswerMax)
	defer cancel()
	select {
	case <-c.opened:
	case <-ctx.Done():
		// The node is stopping, or it is still opening its other shards. The caller tries again.
		return ctx.Err()
	}
	since := c.clock.Mono()
	c.follow(c.background.ctx)
	c.mu.Lock()
	for _, p := range c.estimates {
		signal.Send(p.again)
	}
	c.mu.Unlock()
	for {
		_, voters := c.groups.currentMembers()
		all, changed := c.skews()
		if majorityAnswered(all, voters, since) {
			break
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		}
		break
	}
	c.check()
	return c.Refused()
}

// Successor implements replica.Permission.
func (c *clocks) Successor(voters []string) (node string, ok bool) {
	if c.skewMax == 0 {
		return "", true
	}
	return c.view().successor(voters, c.refused.Load() != nil)
}

// fit reports whether a voter's clock allows the voter to lead, according to this node's estimates.
func (c *clocks) fit(id string) bool {
	if c.skewMax == 0 {
		return true
	}
	if id == c.groups.node {
		return c.refused.Load() == nil
	}
	return c.view().fit(id)
}
