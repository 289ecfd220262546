package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// shardsMax is the maximum number of shards that the client accepts in an answer.
const shardsMax = 1 << 12

type leader struct {
	node    string // the node's ID; "" for a server without a cluster
	address string // the address with which this client reaches the node
	named   string // the address that the cluster reports; "" for a server without a cluster
}

func (l leader) same(o leader) bool {
	return l.node == o.node && (l.node != "" || l.address == o.address)
}

// table contains the leader of each shard.
type table struct {
	leaders []leader // by shard; the zero value if unknown
	alone   bool     // true if the server is not in a cluster
}

func (t *table) complete() bool { return !slices.Contains(t.leaders, leader{}) }

// nodes returns the distinct nodes that lead a shard, in a fixed order.
func (t *table) nodes() (all []leader) {
	for _, l := range t.leaders {
		if l != (leader{}) && !slices.ContainsFunc(all, l.same) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b leader) int { return strings.Compare(a.node+"@"+a.address, b.node+"@"+b.address) })
	return all
}

// routing contains what the client knows of the routes. Concurrent callers share one round of
// requests. While sessions follow the routes, each node is asked to answer when its routes change.
type routing struct {
	client *Client

	mu sync.Mutex
	// answers contains each node's last answer. A node that fails to answer in time is removed.
	answers   map[*peer]*queuepb.GetRoutesResponse
	table     *table        // nil if no route is known
	changed   chan struct{} // closed and replaced when the table changes
	asking    *asking
	followers int // number of sessions that follow the routes
	unwatch   context.CancelFunc
}

// asking is one round of requests.
type asking struct {
	done  chan struct{}
	table *table
	err   error
}

func (r *routing) current() (*table, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table, r.changed
}

// ask starts a round of requests to the nodes for the routes, or joins the current round, and waits
// for it. It returns early if the routes change.
func (r *routing) ask(ctx context.Context) (*table, error) {
	r.mu.Lock()
	a, changed := r.asking, r.changed
	if a == nil {
		a = &asking{done: make(chan struct{})}
		r.asking = a
		go r.round(a)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.table, a.err
	case <-changed:
		t, _ := r.current()
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *routing) round(a *asking) {
	ctx, cancel := context.WithTimeout(context.Background(), r.client.timing.askMax)
	defer cancel()
	answers, err := r.client.answers(ctx)
	var t *table
	if len(answers) > 0 {
		t = r.learn(func() {
			clear(r.answers)
			for _, a := range answers {
				r.answers[a.peer] = a.says
			}
		})
	}
	r.mu.Lock()
	a.table, a.err = t, err
	r.asking = nil
	r.mu.Unlock()
	close(a.done)
}

// learn applies a change to the answers, and returns the table that follows from them. If there is
// no answer, the table does not change.
func (r *routing) learn(change func()) *table {
	known := r.client.known()
	r.mu.Lock()
	change()
	maps.DeleteFunc(r.answers, func(p *peer, _ *queuepb.GetRoutesResponse) bool { return !slices.Contains(known, p) })
	answers := make([]answer, 0, len(r.answers))
	for _, p := range known {
		if a := r.answers[p]; a != nil {
			answers = append(answers, answer{p, a})
		}
	}
	if len(answers) == 0 {
		defer r.mu.Unlock()
		return r.table
	}
	t := count(answers, r.table)
	if r.table == nil || r.table.alone != t.alone || !slices.Equal(r.table.leaders, t.leaders) {
		r.table = t
		close(r.changed)
		r.changed = make(chan struct{})
	}
	r.mu.Unlock()
	if !t.alone {
		r.client.only.Store(nil)
	}
	r.client.prefer(answers, t)
	r.client.forget(t.nodes())
	return t
}

// answer is one node's answer.
type answer struct {
	peer *peer
	says *queuepb.GetRoutesResponse
}

// question asks one node for the routes. If version is the version of the node's last answer, the
// node waits until the routes change, but for at most the given time.
func (p *peer) question(ctx context.Context, version uint64, wait time.Duration) (*queuepb.GetRoutesResponse, error) {
	out, err := p.api.GetRoutes(ctx, &queuepb.GetRoutesRequest{Version: version, WaitMs: uint64(wait.Milliseconds())})
	if status.Code(err) == codes.Unimplemented { // older servers have no clusters
		out, err = &queuepb.GetRoutesResponse{Routes: []*queuepb.Route{{Here: true}}}, nil
	}
	if n := len(out.GetRoutes()); err == nil && (n == 0 || n > shardsMax) {
		err = fmt.Errorf("it names %d shards", n)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.address, err)
	}
	return out, nil
}

// answers asks all known nodes for the routes. If no node answers, it returns the last error.
func (c *Client) answers(ctx context.Context) ([]answer, error) {
	type reply struct {
		answer
		err error
	}
	peers := c.known()
	if len(peers) == 0 {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan reply, len(peers))
	for _, p := range peers {
		go func() {
			out, err := p.question(ctx, 0, 0)
			replies <- reply{answer{p, out}, err}
		}()
	}
	var answers []answer
	var last, refused error
	var grace <-chan time.Time
	for range peers {
		select {
		case r := <-replies:
			switch {
			case r.err == nil:
				answers = append(answers, r.answer)
				if grace == nil {
					grace = time.After(c.timing.askGrace)
				}
			case isFinal(r.err):
				refused = r.err
			// A refused handshake is less informative than the error of a node that is down, so
			// replace its error.
			case last == nil || isHandshakeRefused(last):
				last = r.err
			}
		case <-grace:
			return answers, nil
		}
	}
	if len(answers) > 0 {
		return answers, nil
	}
	if refused != nil { // this says more than the error of a node that is down
		last = refused
	}
	return nil, errors.Join(last)
}

// count merges several answers into one table. The leader of a shard is the node that most answers
// name. Among nodes with equal counts, count prefers a node that names itself. A node that has lost
// its connection to the others is named only by itself. A node that answers without
// naming itself is not a leader: it was elected but does not serve yet, or no longer does.
func count(answers []answer, old *table) *table {
	addresses := map[string]string{} // addresses at which nodes have answered
	shards := 0
	t := &table{alone: true}
	for _, a := range answers {
		shards = max(shards, len(a.says.GetRoutes()))
		for _, r := range a.says.GetRoutes() {
			if r.GetNode() != "" || !r.GetHere() {
				t.alone = false
			}
			if r.GetHere() && r.GetNode() != "" {
				addresses[r.GetNode()] = a.peer.address
			}
		}
	}
	t.leaders = make([]leader, shards)
	for shard := range t.leaders {
		var votes []vote
		for _, a := range answers {
			if routes := a.says.GetRoutes(); shard < len(routes) && !denies(answers, routes[shard]) {
				votes = addVote(votes, a.peer, routes[shard], addresses)
			}
		}
		var was leader
		if old != nil && shard < len(old.leaders) {
			was = old.leaders[shard]
		}
		t.leaders[shard] = winner(votes, was)
	}
	return t
}

// denies reports whether the node that a route names has answered without claiming to lead the
// shard.
func denies(answers []answer, r *queuepb.Route) bool {
	if r.GetHere() || r.GetNode() == "" {
		return false
	}
	i := slices.IndexFunc(answers, func(a answer) bool { return a.says.GetNode() == r.GetNode() })
	if i < 0 {
		return false
	}
	own := answers[i].says.GetRoutes()
	return int(r.GetShard()) < len(own) && !own[r.GetShard()].GetHere()
}

// vote is the number of answers that name a leader.
type vote struct {
	leader leader
	count  int
	itself bool
}

func addVote(votes []vote, from *peer, r *queuepb.Route, addresses map[string]string) []vote {
	l := leader{node: r.GetNode(), address: r.GetAddress(), named: r.GetAddress()}
	if proven, ok := addresses[l.node]; ok {
		l.address = proven
	}
	if r.GetHere() && l.address == "" {
		l.address = from.address
	}
	if l.address == "" {
		return votes // the leader or the leader's address is unknown
	}
	i := slices.IndexFunc(votes, func(v vote) bool { return v.leader.same(l) })
	if i < 0 {
		i = len(votes)
		votes = append(votes, vote{leader: l})
	}
	votes[i].count++
	votes[i].itself = votes[i].itself || r.GetHere()
	return votes
}

func winner(votes []vote, was leader) leader {
	var best vote
	for _, v := range votes {
		better := v.count > best.count
		if v.count == best.count {
			better = v.itself && !best.itself || v.itself == best.itself && v.leader.same(was)
		}
		if better {
			best = v
		}
	}
	return best.leader
}

// follow keeps the routes up to date until the caller calls leave.
func (r *routing) follow() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers++
	if r.followers == 1 {
		var ctx context.Context
		ctx, r.unwatch = context.WithCancel(context.Background())
		go r.watch(ctx)
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followers--; r.followers == 0 {
			r.unwatch()
		}
	})
}

// watch makes a goroutine watch each known node, until ctx ends.
func (r *routing) watch(ctx context.Context) {
	t := time.NewTicker(r.client.timing.peersEvery)
	defer t.Stop()
	watched := map[*peer]bool{}
	for ctx.Err() == nil {
		known := r.client.known()
		for p := range watched {
			if !slices.Contains(known, p) {
				delete(watched, p) // the goroutine of the node ends without help
			}
		}
		for _, p := range known {
			if !watched[p] {
				watched[p] = true
				go r.watchPeer(ctx, p)
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// watchEvery is the minimum average interval of requests to a watched node. Up to watchAtOnce
// requests may follow each other without a pause: a change of the leader changes the routes several
// times within milliseconds, and the client needs the last change.
const (
	watchEvery  = 10 * time.Millisecond
	watchAtOnce = 4
)

// watchPace limits the rate of requests to a node.
type watchPace struct{ next time.Time }

// rest returns the pause to make after an answer.
func (p *watchPace) rest(now time.Time) time.Duration {
	if earliest := now.Add(-(watchAtOnce - 1) * watchEvery); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(watchEvery)
	return p.next.Sub(now)
}

// watchPeer asks one node repeatedly, until ctx ends or the client forgets the node. The node
// answers when its routes change, or after askEvery. The calls also keep the connection to the node
// open.
func (r *routing) watchPeer(ctx context.Context, p *peer) {
	timing := &r.client.timing
	pace := pace{of: timing}
	var version uint64
	var answers watchPace
	for ctx.Err() == nil && slices.Contains(r.client.known(), p) {
		began := time.Now()
		asked, cancel := context.WithTimeout(ctx, timing.askEvery+timing.askMax)
		late := time.AfterFunc(timing.askEvery+timing.askGrace, func() {
			r.learn(func() {
				if asked.Err() == nil {
					delete(r.answers, p)
				}
			})
		})
		says, err := p.question(asked, version, timing.askEvery)
		late.Stop()
		cancel()
		var rest time.Duration
		if err != nil {
			version, rest = 0, pace.next()
			r.learn(func() { delete(r.answers, p) })
		} else {
			version, pace.wait = says.GetVersion(), 0
			r.learn(func() { r.answers[p] = says })
			rest = answers.rest(time.Now())
			if version == 0 { // this server answers without waiting
				rest = timing.askEvery - time.Since(began)
			}
		}
		if rest > 0 && sleep(ctx, rest, nil) != nil {
			return
		}
	}
}
