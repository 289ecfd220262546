package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// plan returns the node that leads each shard.
func (r *router) plan() []string {
	out := make([]string, r.shards)
	for i := range out {
		out[i] = r.cluster.Leader(i)
	}
	return out
}

// nodesOf returns the nodes of a plan, that of the first shard first.
func nodesOf(plan []string) (nodes []string) {
	for _, node := range plan {
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// gatherNodes asks all nodes that lead something, at once, for something that changes nothing, and returns their answers,
// that of the first shard's leader first. Each shard is in one of the answers: it asks again if the leaders change meanwhile,
// or a node does not have a shard that it leads.
func gatherNodes[R any](ctx context.Context, r *router, ask func(context.Context, *site) (R, error)) ([]R, error) {
	h := r.hunt()
	missing := 0
	for {
		plan := r.plan()
		if missing = slices.Index(plan, ""); missing < 0 {
			missing = 0
			answers, err := askAll(ctx, r, plan, ask)
			switch {
			case ctx.Err() != nil:
				return nil, statusOf(ctx.Err())
			case err == nil && slices.Equal(plan, r.plan()):
				return answers, nil
			case err != nil && !errors.Is(err, errAgain):
				return nil, err
			}
		}
		if !h.again(ctx) {
			return nil, r.noLeader(missing)
		}
	}
}

// askAll asks the nodes of a plan. It returns errAgain if a node did not answer for all shards that it leads by the plan.
func askAll[R any](ctx context.Context, r *router, plan []string, ask func(context.Context, *site) (R, error)) ([]R, error) {
	nodes := nodesOf(plan)
	answers, errs := make([]R, len(nodes)), make([]error, len(nodes))
	one := func(k int) {
		t := r.site(nodes[k], forwardMax)
		covered, err := r.covering(t, func() (err error) {
			answers[k], err = ask(ctx, t)
			return err
		})
		for i, node := range plan {
			if err == nil && node == nodes[k] && !covered.has(i) {
				err = errAgain
			}
		}
		if errs[k] = err; err != nil && outcomeOf(err, t.forward, true) != refused {
			errs[k] = errAgain
		}
	}
	var all sync.WaitGroup
	for k := 1; k < len(nodes); k++ {
		all.Go(func() { one(k) })
	}
	one(0)
	all.Wait()
	var failed error
	for _, err := range errs {
		if err != nil && (failed == nil || errors.Is(failed, errAgain)) {
			failed = err
		}
	}
	return answers, failed
}

// cover has each shard's leader do something, one node after the other, that of the first shard first. A node does it
// for all shards that it leads, and does it again if others come to it before they had their turn. repeatable is what
// may be done twice without harm.
func (r *router) cover(ctx context.Context, repeatable bool, do func(context.Context, *site) error) error {
	h := r.hunt()
	left := make([]int, r.shards)
	for i := range left {
		left[i] = i
	}
	for {
		for _, node := range nodesOf(r.plan()) {
			mine := func(i int) bool { return r.cluster.Leader(i) == node }
			if node == "" || !slices.ContainsFunc(left, mine) {
				continue
			}
			meant := slices.DeleteFunc(slices.Clone(left), func(i int) bool { return !mine(i) })
			t := r.site(node, forwardMax)
			covered, err := r.covering(t, func() error { return do(ctx, t) })
			if ended := ctx.Err(); ended != nil {
				return statusOf(ended)
			}
			if err != nil {
				switch outcomeOf(err, t.forward, repeatable) {
				case refused:
					return err
				case unknown:
					return unknownOutcome(err)
				case again:
					continue
				}
			}
			// A shard that went away meanwhile, or had not come yet, may not have had its turn.
			left = slices.DeleteFunc(left, func(i int) bool { return slices.Contains(meant, i) && mine(i) && covered.has(i) })
		}
		if len(left) == 0 {
			return nil
		}
		if !h.again(ctx) {
			return r.noLeader(left[0])
		}
	}
}

// absent tells whether a node refused since it has nothing of the kind: others may.
func absent(err error) bool { return status.Code(err) == codes.NotFound }
