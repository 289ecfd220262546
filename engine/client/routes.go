package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// shardsMax bounds what is believed of an answer.
const shardsMax = 1 << 12

// leader is a node that leads.
type leader struct {
	node    string // "" for a server that is in no cluster
	address string // where this client reaches it
	named   string // its address as the cluster names it; "" for a server that is in no cluster
}

// same reports whether two are the same node.
func (l leader) same(o leader) bool {
	return l.node == o.node && (l.node != "" || l.address == o.address)
}

// table says which node leads each shard.
type table struct {
	leaders []leader // by shard; zero where none is known
	alone   bool     // the server is in no cluster
}

// complete reports whether each shard's leader is known.
func (t *table) complete() bool { return !slices.Contains(t.leaders, leader{}) }

// nodes returns the nodes that lead a shard, each once, sorted.
func (t *table) nodes() (all []leader) {
	for _, l := range t.leaders {
		if l != (leader{}) && !slices.ContainsFunc(all, l.same) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b leader) int { return strings.Compare(a.node+"@"+a.address, b.node+"@"+b.address) })
	return all
}

// routing is what a client knows of the routes. All callers share one round of questions.
type routing struct {
	client *Client

	mu        sync.Mutex
	table     *table        // nil: nothing is known
	changed   chan struct{} // closed, and replaced, when the table changes
	asking    *asking
	followers int // sessions that follow
	watching  chan struct{}
}

// asking is one round of questions.
type asking struct {
	done  chan struct{}
	table *table
	err   error
}

// current returns the table, and a channel that is closed when the table changes.
func (r *routing) current() (*table, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table, r.changed
}

// ask asks the nodes for the routes, or waits for the round that is under way.
func (r *routing) ask(ctx context.Context) (*table, error) {
	r.mu.Lock()
	a := r.asking
	if a == nil {
		a = &asking{done: make(chan struct{})}
		r.asking = a
		go r.round(a)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.table, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// round is one round of questions.
func (r *routing) round(a *asking) {
	ctx, cancel := context.WithTimeout(context.Background(), r.client.timing.askMax)
	defer cancel()
	answers, err := r.client.answers(ctx)
	var t *table
	if len(answers) > 0 {
		old, _ := r.current()
		t = count(answers, old)
		r.client.prefer(answers, t)
	}
	r.mu.Lock()
	if t != nil && (r.table == nil || r.table.alone != t.alone || !slices.Equal(r.table.leaders, t.leaders)) {
		r.table = t
		close(r.changed)
		r.changed = make(chan struct{})
	}
	a.table, a.err = t, err
	r.asking = nil
	r.mu.Unlock()
	close(a.done)
	if t != nil {
		r.client.forget(t.nodes())
	}
}

// answer is one node's answer.
type answer struct {
	peer   *peer
	routes []*queuepb.Route
}

// answers asks all known nodes. If no node answers, the error says why the last one did not.
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
			out, err := p.api.GetRoutes(ctx, &queuepb.GetRoutesRequest{})
			if status.Code(err) == codes.Unimplemented { // an older server stands alone
				out, err = &queuepb.GetRoutesResponse{Routes: []*queuepb.Route{{Here: true}}}, nil
			}
			if n := len(out.GetRoutes()); err == nil && (n == 0 || n > shardsMax) {
				err = fmt.Errorf("it names %d shards", n)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", p.address, err)
			}
			replies <- reply{answer{p, out.GetRoutes()}, err}
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
			default:
				last = r.err
			}
		case <-grace:
			return answers, nil
		}
	}
	if len(answers) > 0 {
		return answers, nil
	}
	if refused != nil { // says more than that another node is down
		last = refused
	}
	return nil, errors.Join(last)
}

// count makes one table of several answers: for each shard the node that most answers name. Of nodes that equally many name, it takes
// one that names itself. A node that lost its connection to the others is the only one that names itself.
func count(answers []answer, old *table) *table {
	addresses := map[string]string{} // of nodes, as they proved to be reachable
	shards := 0
	t := &table{alone: true}
	for _, a := range answers {
		shards = max(shards, len(a.routes))
		for _, r := range a.routes {
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
			if shard < len(a.routes) {
				votes = addVote(votes, a.peer, a.routes[shard], addresses)
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

// vote says how many nodes name a leader.
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
		return votes // who leads is not known, or not where
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

// follow keeps the routes up to date until the returned function is called.
func (r *routing) follow() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers++
	if r.followers == 1 {
		r.watching = make(chan struct{})
		go r.watch(r.watching)
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followers--; r.followers == 0 {
			close(r.watching)
		}
	})
}

func (r *routing) watch(until <-chan struct{}) {
	t := time.NewTicker(r.client.timing.askEvery)
	defer t.Stop()
	for {
		select {
		case <-until:
			return
		case <-t.C:
			_, _ = r.ask(context.Background()) // a round is bounded; callers that need its error ask themselves
		}
	}
}
