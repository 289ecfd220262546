package rpc

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// anyShard is the shard of an item that any node may take, or whose shard is not known before one is asked.
const anyShard = -1

// batch is a call on items each of which belongs to a shard.
type batch[I, R any] struct {
	// shard is an item's, or anyShard.
	shard func(I) int
	// call carries some of the items out at a node. It returns a result for each, or an error that refuses them all.
	call func(context.Context, *site, []I) ([]R, error)
	// errorOf returns why an item was refused, or nil.
	errorOf func(R) *queuepb.ItemError
	// refused makes the result of an item that was.
	refused func(*queuepb.ItemError) R
}

// spreading is a batch under way.
type spreading[I, R any] struct {
	*batch[I, R]

	router  *router
	items   []I
	results []R
	nodes   []string // of each item: where a node that refused it said that it belongs
	done    int      // how many items have their result
}

// spread executes a batch, each item at the node that leads its shard. After a refusal because another node leads, spread tries
// the item at that node, within the bounds of a hunt. It sends the items of one node in the call's order.
func spread[I, R any](ctx context.Context, r *router, b *batch[I, R], items []I) ([]R, error) {
	s := &spreading[I, R]{batch: b, router: r, items: items}
	var left []int // the places of items without result
	var h *hunt
	for first := true; ; first = false {
		var parts []*part[I, R]
		var orphans []int
		if first && r.allHere() {
			parts = []*part[I, R]{{node: r.cluster.Self(), items: items}}
		} else {
			if first {
				left = firstPlaces(len(items))
			}
			slices.Sort(left)
			parts, orphans = s.split(left)
		}
		s.ask(ctx, parts)
		if err := ctx.Err(); err != nil {
			return nil, statusOf(err)
		}
		if first && len(parts) == 1 && len(orphans) == 0 && parts[0].err != nil {
			switch p := parts[0]; p.is { // the outcome of the whole call
			case refused:
				return nil, p.err
			case unknown:
				return nil, unknownOutcome(p.err)
			case again:
			}
		}
		left = orphans
		if s.results == nil {
			s.results = make([]R, len(items))
		}
		for _, p := range parts {
			left = append(left, s.take(p)...)
		}
		if len(left) == 0 {
			return s.results, nil
		}
		if h == nil {
			h = r.hunt()
			if s.elsewhere(left) {
				continue
			}
		}
		if !h.again(ctx) {
			break
		}
	}
	if s.done == 0 {
		return nil, r.noLeader(s.shard(items[left[0]]))
	}
	for _, i := range left {
		n := s.shard(items[i])
		s.results[i] = s.refused(itemError(i, elsewhere(r.cluster, n, &shard.NotLeaderError{Shard: n})))
	}
	return s.results, nil
}

// elsewhere tells whether it is known of all items where to try them next: no time is to be lost then.
func (s *spreading[I, R]) elsewhere(left []int) bool {
	for _, i := range left {
		if s.next(i) == "" || s.shard(s.items[i]) != anyShard {
			return false
		}
	}
	return true
}

// part has the items of a batch that one node gets in one call, and the node's answer. add stores each item with its place in the
// batch. The call sends exactly items, so that an answer can't be matched with another item.
type part[I, R any] struct {
	node   string
	items  []I
	places []int // the place of each of items in the batch; nil if the part is the whole batch in order

	results []R // one for each of items, unless err is set
	err     error
	is      outcome // what err says about the items
}

func (p *part[I, R]) add(item I, place int) {
	p.items = append(p.items, item)
	p.places = append(p.places, place)
}

// ask sends the part to its node. If the answer has a wrong number of results, the outcome of all items is unknown.
func (p *part[I, R]) ask(ctx context.Context, r *router, call func(context.Context, *site, []I) ([]R, error)) {
	at := r.site(p.node, forwardMax)
	if p.results, p.err = call(ctx, at, p.items); p.err != nil {
		p.is = outcomeOf(p.err, at.forward, false)
	} else if len(p.results) != len(p.items) {
		p.err, p.is = status.Errorf(codes.Internal, "node %s answered %d of %d items", p.node, len(p.results), len(p.items)), unknown
	}
}

// split sorts items by the node to ask, and returns the places of those that no node is known for.
func (s *spreading[I, R]) split(left []int) (parts []*part[I, R], orphans []int) {
	at := map[string]*part[I, R]{}
	for _, i := range left {
		node := s.next(i)
		if n := s.shard(s.items[i]); n != anyShard {
			node = s.router.leader(n)
		} else if node == "" {
			if nodes, _ := s.router.leaders(); len(nodes) > 0 {
				node = nodes[0]
			}
		}
		if node == "" {
			orphans = append(orphans, i)
			continue
		}
		p, has := at[node]
		if !has {
			p = &part[I, R]{node: node}
			at[node] = p
			parts = append(parts, p)
		}
		p.add(s.items[i], i)
	}
	return parts, orphans
}

// ask asks all nodes at once.
func (s *spreading[I, R]) ask(ctx context.Context, parts []*part[I, R]) {
	if len(parts) == 0 {
		return
	}
	var all sync.WaitGroup
	for _, p := range parts[1:] {
		all.Go(func() { p.ask(ctx, s.router, s.call) })
	}
	parts[0].ask(ctx, s.router, s.call)
	all.Wait()
}

// take notes a node's answer, and returns the places of the items that another node is to be asked for.
func (s *spreading[I, R]) take(p *part[I, R]) (left []int) {
	for j := range p.items {
		i := place(p.places, j)
		var e *queuepb.ItemError
		var result R
		switch {
		case p.err == nil:
			result = p.results[j]
			if e = s.errorOf(result); e != nil {
				e.Index = uint32(i)
			}
		case p.is == again:
			e = &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER}
		default:
			err := p.err
			if p.is == unknown {
				err = unknownOutcome(err)
			}
			result = s.refused(itemOfStatus(i, err))
		}
		if code := e.GetCode(); code == queuepb.ErrorCode_ERROR_CODE_NOT_LEADER || code == queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE {
			if s.nodes == nil {
				s.nodes = make([]string, len(s.items))
			}
			s.nodes[i] = s.router.other(p.node, e.GetLeader())
			left = append(left, i)
			continue
		}
		s.results[i] = result
		s.done++
	}
	return left
}

// next returns the node that an item is tried at next, as far as one that refused it said.
func (s *spreading[I, R]) next(i int) string {
	if s.nodes == nil {
		return ""
	}
	return s.nodes[i]
}

// other returns the node to try after one that refused: that at the address that it named, or else the next one that
// leads something.
func (r *router) other(node, address string) string {
	if at := r.nodeAt(address); at != "" {
		return at
	}
	nodes, _ := r.leaders()
	for k, n := range nodes {
		if n == node {
			return nodes[(k+1)%len(nodes)]
		}
	}
	return "" // it leads nothing: any other
}

// itemCodes maps the codes of refused calls to the codes of their items. After any other code the outcome is unknown.
var itemCodes = map[codes.Code]queuepb.ErrorCode{
	codes.InvalidArgument:    queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT,
	codes.NotFound:           queuepb.ErrorCode_ERROR_CODE_NOT_FOUND,
	codes.FailedPrecondition: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN,
	codes.ResourceExhausted:  queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
	codes.Unavailable:        queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE,
	codes.PermissionDenied:   queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
	codes.Unauthenticated:    queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
}

// itemOfStatus refuses one item as a node refused the call that the item was in.
func itemOfStatus(index int, err error) *queuepb.ItemError {
	s := status.Convert(err)
	code, refuses := itemCodes[s.Code()]
	if !refuses {
		code = queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME
	}
	e := &queuepb.ItemError{Index: uint32(index), Code: code, Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			e.RetryAfterMs = uint64(max(1, d.GetRetryDelay().AsDuration().Milliseconds()))
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 {
				e.Field = v[0].GetField()
			}
		}
	}
	return e
}

// shardOfID returns the shard of a task; anyShard for what is no id, which any node refuses.
func shardOfID(text string) int {
	id, err := queue.ParseID(text)
	if err != nil {
		return anyShard
	}
	return int(id.Shard)
}
