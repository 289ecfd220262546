package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// completeAndClaim executes a checked claim and its completions. The completions go to their shards
// first and do not wait for the claim; the answer waits for both. If the claim is refused, the
// refusal becomes a field of the answer, so that the completions' results are not lost.
func (s *Service) completeAndClaim(ctx context.Context, in *queuepb.ClaimRequest, claim queue.Claim) (*queuepb.ClaimResponse, error) {
	completions := s.beginCompletions(ctx, in.GetTenant(), claim.Tenant, in.GetCompletions())
	if in.GetWaitMs() == 0 && s.quotas.CheckLeases(claim.Tenant) != nil {
		completions.wait(ctx) // completions may free leases that the quota lacks
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

// completions are the active completions of a claim. Only one goroutine uses them.
type completions struct {
	service *Service
	n       int
	ts      call.Part[queue.Settlement]
	errs    []*queuepb.ItemError // of items that the checks refused

	// At most one of these channels receives the outcome, once.
	here   chan shard.Reply[[]error]                 // if this node's shards were asked
	spread chan shard.Reply[[]*queuepb.SettleResult] // if the leaders were asked

	results []*queuepb.SettleResult // nil until known
}

// beginCompletions sends completions to their shards without waiting. name is the tenant as the
// caller named it.
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

// refuse records the refusal of all completions that passed the checks.
func (c *completions) refuse(err error) {
	for i := range c.ts.Items {
		c.errs = append(c.errs, call.ItemOfStatus(c.ts.Place(i), err))
	}
	c.results = call.SettleResults(c.n, c.errs)
}

// wait waits for the outcome of the completions and returns a result for each, or nil if ctx ends
// first.
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
	case r := <-c.spread: // ends soon after ctx
		if c.results = r.Value; r.Err != nil {
			c.refuse(r.Err)
		}
	case <-ctx.Done():
	}
	return c.results
}
