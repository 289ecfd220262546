package route

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// AnyShard is the shard of an item that any node may execute, and of an item whose shard only the
// receiving node can determine.
const AnyShard = -1

// Batch describes a call on several items, each of which belongs to a shard.
type Batch[I, R any] struct {
	// Shard returns the shard of an item, or AnyShard.
	Shard func(I) int
	// Call executes some of the items at a node. It returns either a result for each of them, or an
	// error that refuses all of them.
	Call func(context.Context, *Target, []I) ([]R, error)
	// ErrorOf returns the error in an item's result, or nil.
	ErrorOf func(R) *queuepb.ItemError
	// Refused returns the result for an item that was refused with the given error.
	Refused func(*queuepb.ItemError) R
}

// spread is the execution of a batch.
type spread[I, R any] struct {
	*Batch[I, R]

	router  *Router
	items   []I
	results []R      // nil before the first round
	left    []int    // indexes of the items without a result
	nodes   []string // by item: the node to try after a refusal, or ""
	done    int      // the number of items with a result
}

// Spread executes each item of a batch at the leader of the item's shard. If a node refuses an item
// because another node leads, Spread tries the item there, within the time limit of Router.Retry.
// Spread sends the items of one node in the call's order.
func Spread[I, R any](ctx context.Context, r *Router, b *Batch[I, R], items []I) ([]R, error) {
	s := &spread[I, R]{Batch: b, router: r, items: items}
	err := r.Retry(ctx, false, func() (int, error) {
		first := s.results == nil
		err := s.round(ctx)
		if first && errors.Is(err, ErrRetry) && s.elsewhere() { // retry without a pause
			err = s.round(ctx)
		}
		if errors.Is(err, ErrRetry) {
			return s.Shard(items[s.left[0]]), err
		}
		return 0, err
	})
	if err != nil && (s.done == 0 || ctx.Err() != nil) {
		return nil, err
	}
	for _, i := range s.left {
		n := s.Shard(items[i])
		s.results[i] = s.Refused(call.ItemError(i, Misrouted(r.cluster, n, &shard.NotLeaderError{Shard: n})))
	}
	return s.results, nil
}

// round tries each item without a result at one node. It returns ErrRetry if some items still have
// no result. It returns another error if the first round was a single call that failed as a whole.
func (s *spread[I, R]) round(ctx context.Context) error {
	first := s.results == nil
	var parts []*part[I, R]
	var orphans []int
	if first && s.router.allHere() {
		parts = []*part[I, R]{{node: s.router.cluster.Self(), Part: call.Part[I]{Items: s.items}}}
	} else {
		if first {
			s.left = make([]int, len(s.items))
			for i := range s.left {
				s.left[i] = i
			}
		}
		slices.Sort(s.left)
		parts, orphans = s.split(s.left)
	}
	s.ask(ctx, parts)
	if err := ctx.Err(); err != nil {
		return err
	}
	if first {
		if len(parts) == 1 && len(orphans) == 0 && parts[0].err != nil && !errors.Is(parts[0].err, ErrRetry) {
			return parts[0].err
		}
		s.results = make([]R, len(s.items))
	}
	s.left = orphans
	for _, p := range parts {
		s.left = append(s.left, s.take(p)...)
	}
	if len(s.left) > 0 {
		return ErrRetry
	}
	return nil
}

// elsewhere reports whether the next node is known for each remaining item, so that Spread can
// retry without a pause.
func (s *spread[I, R]) elsewhere() bool {
	for _, i := range s.left {
		if s.next(i) == "" || s.Shard(s.items[i]) != AnyShard {
			return false
		}
	}
	return true
}

// part contains the items of a batch for one node, and the node's answer. The call contains exactly
// these items, so the i-th result always belongs to the i-th item.
type part[I, R any] struct {
	call.Part[I]

	node    string
	results []R // one result per item, unless err is set
	err     error
}

// ask sends the part to its node. If the number of results is wrong, the outcome of all items is
// unknown.
func (p *part[I, R]) ask(ctx context.Context, r *Router, do func(context.Context, *Target, []I) ([]R, error)) {
	at := r.Target(p.node, ForwardMax)
	p.results, p.err = do(ctx, at, p.Items)
	p.err = at.failure(p.err, false)
	if p.err == nil && len(p.results) != len(p.Items) {
		p.err = unknownOutcome(status.Errorf(codes.Internal, "node %s answered %d of %d items", p.node, len(p.results), len(p.Items)))
	}
}

// split groups items by the node to ask. orphans are the indexes of items without a known node.
func (s *spread[I, R]) split(left []int) (parts []*part[I, R], orphans []int) {
	at := map[string]*part[I, R]{}
	for _, i := range left {
		node := s.next(i)
		if n := s.Shard(s.items[i]); n != AnyShard {
			node = s.router.leader(n)
		} else if node == "" {
			if nodes, _ := s.router.Leaders(); len(nodes) > 0 {
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
		p.Add(s.items[i], i)
	}
	return parts, orphans
}

func (s *spread[I, R]) ask(ctx context.Context, parts []*part[I, R]) {
	if len(parts) == 0 {
		return
	}
	var all sync.WaitGroup
	for _, p := range parts[1:] {
		all.Go(func() { p.ask(ctx, s.router, s.Call) })
	}
	parts[0].ask(ctx, s.router, s.Call)
	all.Wait()
}

// take records a node's answer, and returns the indexes of the items to try at another node.
func (s *spread[I, R]) take(p *part[I, R]) (left []int) {
	for j := range p.Items {
		i := p.Place(j)
		var e *queuepb.ItemError
		var result R
		switch {
		case p.err == nil:
			result = p.results[j]
			if e = s.ErrorOf(result); e != nil {
				e.Index = uint32(i)
			}
		case errors.Is(p.err, ErrRetry):
			e = &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER}
		default:
			result = s.Refused(call.ItemOfStatus(i, p.err))
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

// next returns the node to try after a node refused the item, or "" if unknown.
func (s *spread[I, R]) next(i int) string {
	if s.nodes == nil {
		return ""
	}
	return s.nodes[i]
}

// other returns the node to try after a refusal. This is the node whose address the refusal named,
// or else the next node that leads a shard.
func (r *Router) other(node, address string) string {
	if at := r.nodeAt(address); at != "" {
		return at
	}
	nodes, _ := r.Leaders()
	for k, n := range nodes {
		if n == node {
			return nodes[(k+1)%len(nodes)]
		}
	}
	return "" // the refusing node leads no shard: any other node may be tried
}

// SpreadIDs executes a batch of items with task ids in the same way as Spread. n is the number of
// items in the call. part contains the items that passed the checks; errs has the errors of the
// others.
func SpreadIDs[I any](ctx context.Context, r *Router, n int, part call.Part[I], errs []*queuepb.ItemError, shard func(I) int,
	do func(context.Context, *Target, []I) ([]*queuepb.SettleResult, error),
) ([]*queuepb.SettleResult, error) {
	results := call.SettleResults(n, errs)
	if len(part.Items) == 0 {
		return results, nil
	}
	spread, err := Spread(ctx, r, &Batch[I, *queuepb.SettleResult]{
		Shard: shard, Call: do, ErrorOf: (*queuepb.SettleResult).GetError,
		Refused: func(e *queuepb.ItemError) *queuepb.SettleResult { return &queuepb.SettleResult{Error: e} },
	}, part.Items)
	if err != nil {
		return nil, err
	}
	for i, result := range spread {
		place := part.Place(i)
		if e := result.GetError(); e != nil {
			e.Index = uint32(place)
		}
		results[place] = result
	}
	return results, nil
}

// AppendSettleErrors appends an item error to errs for each settlement of a part that was refused.
func AppendSettleErrors[T any](c Cluster, errs []*queuepb.ItemError, outcomes []error, part call.Part[T]) []*queuepb.ItemError {
	for i, err := range outcomes {
		if err != nil {
			errs = append(errs, call.ItemError(part.Place(i), Explain(c, err)))
		}
	}
	return errs
}
