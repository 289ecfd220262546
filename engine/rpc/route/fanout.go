package route

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (r *Router) plan() []string {
	out := make([]string, r.shards)
	for i := range out {
		out[i] = r.cluster.Leader(i)
	}
	return out
}

// nodesOf returns the distinct nodes of a plan in the order in which they first occur.
func nodesOf(plan []string) (nodes []string) {
	for _, node := range plan {
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Gather executes a read concurrently at all nodes that lead a shard. It returns one answer per
// node, in the order of each node's first shard. Together the answers include every shard: Gather
// repeats the read if the leaders change during it, or if a node does not serve a shard that it
// leads.
func Gather[R any](ctx context.Context, r *Router, ask func(context.Context, *Target) (R, error)) (answers []R, err error) {
	err = r.Retry(ctx, false, func() (int, error) {
		plan := r.plan()
		if missing := slices.Index(plan, ""); missing >= 0 {
			return missing, ErrRetry
		}
		var failed error
		answers, failed = askAll(ctx, r, plan, ask)
		if failed == nil && !slices.Equal(plan, r.plan()) {
			failed = ErrRetry
		}
		return 0, failed
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// askAll asks the nodes of a plan. It returns ErrRetry if a node did not answer for all shards that
// it leads according to the plan.
func askAll[R any](ctx context.Context, r *Router, plan []string, ask func(context.Context, *Target) (R, error)) ([]R, error) {
	nodes := nodesOf(plan)
	answers, errs := make([]R, len(nodes)), make([]error, len(nodes))
	one := func(k int) {
		t := r.Target(nodes[k], ForwardMax)
		covered, err := r.covering(t, func() (err error) {
			answers[k], err = ask(ctx, t)
			return err
		})
		for i, node := range plan {
			if err == nil && node == nodes[k] && !covered.has(i) {
				err = ErrRetry
			}
		}
		errs[k] = t.ReadFailure(err)
	}
	var all sync.WaitGroup
	for k := 1; k < len(nodes); k++ {
		all.Go(func() { one(k) })
	}
	one(0)
	all.Wait()
	var failed error
	for _, err := range errs {
		if err != nil && (failed == nil || errors.Is(failed, ErrRetry)) {
			failed = err
		}
	}
	return answers, failed
}

// Cover executes a change at each shard's leader, one node after another, starting with the leader
// of the first shard. A node executes the change for all shards that it leads. It executes the
// change again if it becomes the leader of another shard that was not changed yet. repeatable means
// that repeating the change is harmless.
func (r *Router) Cover(ctx context.Context, repeatable bool, do func(context.Context, *Target) error) error {
	left := make([]int, r.shards)
	for i := range left {
		left[i] = i
	}
	return r.Retry(ctx, false, func() (int, error) {
		for _, node := range nodesOf(r.plan()) {
			mine := func(i int) bool { return r.cluster.Leader(i) == node }
			if node == "" || !slices.ContainsFunc(left, mine) {
				continue
			}
			meant := slices.DeleteFunc(slices.Clone(left), func(i int) bool { return !mine(i) })
			t := r.Target(node, ForwardMax)
			covered, err := r.covering(t, func() error { return do(ctx, t) })
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if err == nil {
				// The call may have missed a shard that the node has lost or has not recovered yet.
				left = slices.DeleteFunc(left, func(i int) bool { return slices.Contains(meant, i) && mine(i) && covered.has(i) })
			} else if err = t.failure(err, repeatable); !errors.Is(err, ErrRetry) {
				return 0, err
			}
		}
		if len(left) == 0 {
			return 0, nil
		}
		return left[0], ErrRetry
	})
}

// IsAbsent reports whether a node refused a call because its shards do not contain the requested
// object. Other nodes may have it.
func IsAbsent(err error) bool { return status.Code(err) == codes.NotFound }
