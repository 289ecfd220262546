package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// completeAndClaim executes a checked claim and its completions. It first sends the completions to
// their shards, and then claims without waiting for them. The answer waits for both. A refusal of
// the claim is a field of the answer, so that the results of the completions are not lost.
func (s *Service) completeAndClaim(ctx context.Context, in *queuepb.ClaimRequest, claim queue.Claim) (*queuepb.ClaimResponse, error) {
	completions := s.beginCompletions(ctx, in.GetTenant(), claim.Tenant, in.GetCompletions())
	if in.GetWaitMs() == 0 && s.quotas.CheckLeases(claim.Tenant) != nil {
		completions.wait(ctx) // completions may free leases, so that the quota allows the claim
	}
	out, refused := s.claimChecked(ctx, in, claim)
	results := completions.wait(ctx)
	if err := ctx.Err(); err != nil {
		s.returnTasks(ctx, in.GetTenant(), out.GetTasks())
		return nil, s.refuse(err)
	}
	if refused != nil {
		out = &queuepb.ClaimResponse{ClaimError: call.ItemOfStatus(0, refused)}
	}
	out.Results = results
	return out, nil
}

// completions tracks the completions of one claim while they execute. Only one goroutine uses it.
type completions struct {
	service *Service
	n       int
	ts      call.Part[queue.Settlement]
	errs    []*queuepb.ItemError // the errors of completions that failed the checks

	// At most one of these channels receives the outcome, once.
	here   chan shard.Reply[[]error]                 // for completions at this node's shards
	spread chan shard.Reply[[]*queuepb.SettleResult] // for completions at the shards' leaders

	results []*queuepb.SettleResult // nil until known
}

// beginCompletions sends completions to their shards and does not wait for the outcome. name is the
// tenant's name in the caller's request, which may be empty.
func (s *Service) beginCompletions(ctx context.Context, name, tenant string, in []*queuepb.Completion) *completions {
	c := &completions{service: s, n: len(in)}
	c.ts, c.errs = settlements(s, in, completion)
	switch {
	case len(c.ts.Items) == 0:
		c.results = call.SettleResults(c.n, c.errs)
	case s.router.Routes(ctx):
		c.spread = make(chan shard.Reply[[]*queuepb.SettleResult], 1)
		go func() {
			results, err := spreadSettlements(ctx, s, tenant, name, c.n, c.ts, c.errs, queuepb.QueueServiceClient.Complete, completeRequest)
			c.spread <- shard.Reply[[]*queuepb.SettleResult]{Value: results, Err: err}
		}()
	default:
		c.here = make(chan shard.Reply[[]error], 1)
		err := s.shards.Settle(tenant, c.ts.Items, func(outcomes []error, err error) {
			c.here <- shard.Reply[[]error]{Value: outcomes, Err: err}
		})
		if err != nil {
			c.refuse(s.refuse(err))
		}
	}
	return c
}

// refuse records err as the result of each completion that passed the checks.
func (c *completions) refuse(err error) {
	for i := range c.ts.Items {
		c.errs = append(c.errs, call.ItemOfStatus(c.ts.Place(i), err))
	}
	c.results = call.SettleResults(c.n, c.errs)
}

// wait waits for the outcome of the completions and returns one result for each of them. If ctx
// ends first, it returns nil.
func (c *completions) wait(ctx context.Context) []*queuepb.SettleResult {
	if c.results != nil {
		return c.results
	}
	select {
	case r := <-c.here:
		if r.Err != nil {
			c.refuse(c.service.refuse(r.Err))
			break
		}
		c.errs = route.AppendSettleErrors(c.service.router.Cluster(), c.errs, r.Value, c.ts)
		c.results = call.SettleResults(c.n, c.errs)
	case r := <-c.spread: // returns soon after ctx ends
		if c.results = r.Value; r.Err != nil {
			c.refuse(r.Err)
		}
	case <-ctx.Done():
	}
	return c.results
}
