package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

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
	cluster *Cluster
	clock   *clock.Clock
	skewMax time.Duration // from the median; 0: leading does not depend on clocks

	refused atomic.Pointer[clockRefusal] // why this node must not lead; nil if it may lead

	mu      sync.Mutex
	peers   map[string]*peerClock
	changed chan struct{} // closed and replaced after each answer
}

// peerClock is the estimate of one node's clock.
type peerClock struct {
	stop     context.CancelFunc
	again    chan struct{} // contains an element when the node should be queried immediately
	answered bool
	estimate clock.Estimate
}

// clockRefusal is the reason why a node must not lead because of its clock.
type clockRefusal struct {
	ahead   time.Duration // the clock's time minus the median; negative if the clock is behind
	skewMax time.Duration
	voters  []string // the other voters whose answers were used
}

// Error implements error.
func (r *clockRefusal) Error() string {
	apart := fmt.Sprintf("%v ahead of", r.ahead.Round(time.Millisecond))
	if r.ahead < 0 {
		apart = fmt.Sprintf("%v behind", (-r.ahead).Round(time.Millisecond))
	}
	of := fmt.Sprintf("the median of %d voters", len(r.voters)+1)
	if len(r.voters) == 1 {
		of = "that of " + r.voters[0] + ", the only other voter that answers"
	}
	return fmt.Sprintf("its clock is %s %s, and may differ by %v (--cluster-clock-skew-max): it leads no shard; set the hosts' clocks, and restart the node so that it uses the new time immediately",
		apart, of, r.skewMax)
}

func newClocks(k *Cluster) *clocks {
	return &clocks{
		cluster: k, clock: k.config.Clock, skewMax: k.config.ClockSkewMax, peers: map[string]*peerClock{}, changed: make(chan struct{}),
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
			for _, r := range c.cluster.replicas {
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
	members, _ := c.cluster.currentMembers()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range members {
		if c.peers[id] == nil && id != c.cluster.Self() {
			ctx, cancel := context.WithCancel(ctx)
			p := &peerClock{stop: cancel, again: make(chan struct{}, 1)}
			c.peers[id] = p
			c.cluster.background.Go(func() { c.queryPeriodically(ctx, id, p) })
		}
	}
	for id, p := range c.peers {
		if _, still := members[id]; !still {
			p.stop()
			delete(c.peers, id)
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
	conn, err := c.cluster.conn(id)
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
	for id, p := range c.peers {
		if p.answered && mono-p.estimate.Asked <= int64(clockAnswerMax) {
			is, wrong := p.estimate.At(mono)
			out[id] = skew{ahead: time.Duration(is - now), wrong: wrong, asked: p.estimate.Asked}
		}
	}
	return out, c.changed
}

// counting returns the skews of voters that are precise enough, by node. It also reports whether
// these voters and this node form a majority.
func (c *clocks) counting(skews map[string]skew, voters []string) (map[string]skew, bool) {
	out := maps.Clone(skews)
	maps.DeleteFunc(out, func(id string, s skew) bool {
		return s.wrong > clock.ErrorMax(c.skewMax) || !slices.Contains(voters, id)
	})
	return out, 2*(len(out)+1) > len(voters)
}

// check decides whether this node may lead. If a majority of the voters has not answered, the
// previous decision remains valid: without a majority no node leads for long, and missing answers
// must not allow a refused node to lead.
func (c *clocks) check() {
	_, voters := c.cluster.currentMembers()
	if c.skewMax == 0 || !slices.Contains(voters, c.cluster.Self()) {
		c.decide(nil)
		return
	}
	all, _ := c.skews()
	known, enough := c.counting(all, voters)
	if !enough {
		return
	}
	var offsets []time.Duration
	for _, s := range known {
		offsets = append(offsets, s.ahead)
	}
	ahead := clock.Deviation(offsets)
	if ahead.Abs() <= c.skewMax {
		c.decide(nil)
		return
	}
	c.decide(&clockRefusal{ahead: ahead, skewMax: c.skewMax, voters: slices.Sorted(maps.Keys(known))})
}

func (c *clocks) decide(refused *clockRefusal) {
	before := c.refused.Swap(refused)
	log := c.cluster.log
	switch {
	case before == nil && refused != nil:
		log.Warn("this node must not lead", "reason", refused)
	case before != nil && refused == nil:
		log.Info("the clock allows this node to lead again")
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
	case <-c.cluster.opened:
	case <-ctx.Done():
		// The node is stopping, or it is still opening its other shards. The caller tries again.
		return ctx.Err()
	}
	since := c.clock.Mono()
	c.follow(c.cluster.ctx)
	c.mu.Lock()
	for _, p := range c.peers {
		signal.Send(p.again)
	}
	c.mu.Unlock()
	for {
		_, voters := c.cluster.currentMembers()
		all, changed := c.skews()
		n := 1
		for id, s := range all {
			if s.asked >= since && slices.Contains(voters, id) {
				n++
			}
		}
		if 2*n > len(voters) {
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
	all, _ := c.skews()
	_, of := c.cluster.currentMembers()
	known, enough := c.counting(all, of)
	if !enough {
		return "", c.refused.Load() == nil
	}
	wrong := false
	for _, id := range slices.Sorted(maps.Keys(known)) {
		switch {
		case c.deviation(id, known).Abs() > c.skewMax:
			wrong = true
		case node == "" && slices.Contains(voters, id):
			node = id
		}
	}
	if !wrong && c.refused.Load() == nil {
		return "", true
	}
	return node, node != ""
}

// deviation returns the time of another voter's clock minus the median of the clocks, according to
// this node's estimates.
func (c *clocks) deviation(id string, known map[string]skew) time.Duration {
	its := known[id].ahead
	offsets := []time.Duration{-its}
	for other, s := range known {
		if other != id {
			offsets = append(offsets, s.ahead-its)
		}
	}
	return clock.Deviation(offsets)
}

// fit reports whether a voter's clock allows the voter to lead, according to this node's estimates.
func (c *clocks) fit(id string) bool {
	if c.skewMax == 0 {
		return true
	}
	if id == c.cluster.Self() {
		return c.refused.Load() == nil
	}
	all, _ := c.skews()
	_, voters := c.cluster.currentMembers()
	known, enough := c.counting(all, voters)
	_, answers := known[id]
	return !enough || !answers || c.deviation(id, known).Abs() <= c.skewMax
}

// currentMembers returns the addresses of the members of any group, by ID, and the members that
// have a vote in any group.
func (k *Cluster) currentMembers() (members map[string]string, voters []string) {
	members = map[string]string{}
	for _, r := range k.replicas {
		if r == nil {
			continue // the replica could not be opened
		}
		s, err := r.Status()
		if err != nil {
			continue // the replica is stopping
		}
		for _, m := range s.Members {
			id := string(m.ID)
			members[id] = string(m.Address)
			if m.Suffrage == raft.Voter && !slices.Contains(voters, id) {
				voters = append(voters, id)
			}
		}
	}
	return members, voters
}
