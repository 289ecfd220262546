package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/recycle"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// Complete implements queuepb.QueueServiceServer.
func (s *Service) Complete(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "completions", in.GetCompletions(),
		completion, queuepb.QueueServiceClient.Complete, completeRequest)
	return &queuepb.CompleteResponse{Results: results}, err
}

func completion(m *queuepb.Completion, t *queue.Settlement) error {
	t.Action, t.Result = queue.Complete, m.GetResult()
	return nil
}

func completeRequest(tenant string, ts []queue.Settlement) *queuepb.CompleteRequest {
	return &queuepb.CompleteRequest{Tenant: tenant, Completions: messages(ts, func(id string, t *queue.Settlement) *queuepb.Completion {
		return &queuepb.Completion{Id: id, Token: t.Token, Result: t.Result}
	})}
}

// Fail implements queuepb.QueueServiceServer.
func (s *Service) Fail(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "failures", in.GetFailures(),
		func(m *queuepb.Failure, t *queue.Settlement) error {
			t.Action, t.Error, t.DelayMs, t.Permanent = queue.Fail, m.GetError(), m.GetDelayMs(), m.GetPermanent()
			return nil
		},
		queuepb.QueueServiceClient.Fail, func(tenant string, ts []queue.Settlement) *queuepb.FailRequest {
			return &queuepb.FailRequest{Tenant: tenant, Failures: messages(ts, func(id string, t *queue.Settlement) *queuepb.Failure {
				return &queuepb.Failure{Id: id, Token: t.Token, Error: t.Error, DelayMs: t.DelayMs, Permanent: t.Permanent}
			})}
		})
	return &queuepb.FailResponse{Results: results}, err
}

// Extend implements queuepb.QueueServiceServer.
func (s *Service) Extend(ctx context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "extensions", in.GetExtensions(),
		func(m *queuepb.Extension, t *queue.Settlement) error {
			t.Action, t.LeaseMs, t.Error = queue.Extend, m.GetLeaseMs(), m.GetNote()
			return nil
		},
		queuepb.QueueServiceClient.Extend, func(tenant string, ts []queue.Settlement) *queuepb.ExtendRequest {
			return &queuepb.ExtendRequest{Tenant: tenant, Extensions: messages(ts, func(id string, t *queue.Settlement) *queuepb.Extension {
				return &queuepb.Extension{Id: id, Token: t.Token, LeaseMs: t.LeaseMs, Note: t.Error}
			})}
		})
	return &queuepb.ExtendResponse{Results: results}, err
}

// Release implements queuepb.QueueServiceServer.
func (s *Service) Release(ctx context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "releases", in.GetReleases(),
		func(m *queuepb.Releasing, t *queue.Settlement) error {
			t.Action, t.DelayMs = queue.Release, m.GetDelayMs()
			return nil
		},
		queuepb.QueueServiceClient.Release, func(tenant string, ts []queue.Settlement) *queuepb.ReleaseRequest {
			return &queuepb.ReleaseRequest{Tenant: tenant, Releases: messages(ts, func(id string, t *queue.Settlement) *queuepb.Releasing {
				return &queuepb.Releasing{Id: id, Token: t.Token, DelayMs: t.DelayMs}
			})}
		})
	return &queuepb.ReleaseResponse{Results: results}, err
}

// settle executes a call that settles tasks, each item at the leader of its shard. The argument
// there is the client's method for the call. The function request returns the request for a part of
// the settlements. To avoid allocations, neither may be a closure.
func settle[I item, Q any, R interface {
	GetResults() []*queuepb.SettleResult
}](ctx context.Context, s *Service, name, field string, in []I, fill func(I, *queue.Settlement) error,
	there func(queuepb.QueueServiceClient, context.Context, Q, ...grpc.CallOption) (R, error), request func(tenant string, ts []queue.Settlement) Q,
) ([]*queuepb.SettleResult, error) {
	tenant, err := s.enter(ctx, access.Work, name, field, len(in))
	if err != nil {
		return nil, err
	}
	ts, errs := settlements(s, in, fill)
	if !s.router.Routes(ctx) {
		return s.settleHere(ctx, tenant, len(in), ts, errs)
	}
	return spreadSettlements(ctx, s, tenant, name, len(in), ts, errs, there, request)
}

// spreadSettlements settles n items, each at the leader of its shard. name is the tenant's name in
// the caller's request, which may be empty. See settle and settleHere for the other parameters.
func spreadSettlements[Q any, R interface {
	GetResults() []*queuepb.SettleResult
}](ctx context.Context, s *Service, tenant, name string, n int, ts call.Part[queue.Settlement], errs []*queuepb.ItemError,
	there func(queuepb.QueueServiceClient, context.Context, Q, ...grpc.CallOption) (R, error), request func(tenant string, ts []queue.Settlement) Q,
) ([]*queuepb.SettleResult, error) {
	return route.SpreadIDs(ctx, s.router, n, ts, errs, func(t queue.Settlement) int { return int(t.Shard) },
		func(ctx context.Context, at *route.Target, ts []queue.Settlement) ([]*queuepb.SettleResult, error) {
			if at.Local() {
				return s.settleHere(ctx, tenant, len(ts), call.Part[queue.Settlement]{Items: ts}, nil)
			}
			out, err := there(at.Queues(), ctx, request(name, ts))
			return out.GetResults(), err
		})
}

// settleHere settles tasks at the shards that this node leads. It returns results for all n items
// of the call.
func (s *Service) settleHere(ctx context.Context, tenant string, n int, ts call.Part[queue.Settlement], errs []*queuepb.ItemError) ([]*queuepb.SettleResult, error) {
	if len(ts.Items) > 0 {
		outcomes, err := shard.AwaitReply(ctx, func(reply func([]error, error)) error { return s.shards.Settle(tenant, ts.Items, reply) })
		if err != nil {
			return nil, s.refuse(err)
		}
		errs = route.AppendSettleErrors(s.router.Cluster(), errs, outcomes, ts)
	}
	return call.SettleResults(n, errs), nil
}

func messages[M any](ts []queue.Settlement, of func(id string, t *queue.Settlement) M) []M {
	out := make([]M, len(ts))
	for i := range ts {
		out[i] = of(queue.ID{Shard: ts[i].Shard, Ref: ts[i].Ref}.String(), &ts[i])
	}
	return out
}

// item is a message that settles a task.
type item interface {
	GetId() string
	GetToken() uint64
}

// settlement validates one item and copies its task id and token to t.
func (s *Service) settlement(in item, t *queue.Settlement) error {
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return call.IDError(err)
	}
	t.Shard, t.Ref, t.Token = id.Shard, id.Ref, in.GetToken()
	return call.FieldErr(s.limits.CheckSettlement(t))
}

var spareSettlements recycle.Pool[queue.Settlement]

// settlements converts and validates the items of one call. It omits invalid items and returns an
// error for each of them.
func settlements[I item](s *Service, in []I, fill func(I, *queue.Settlement) error) (out call.Part[queue.Settlement], errs []*queuepb.ItemError) {
	out.Items = spareSettlements.Take(len(in))[:0]
	for i, m := range in {
		t := out.Next(i)
		err := fill(m, t)
		if err == nil {
			err = s.settlement(m, t)
		}
		if err != nil {
			out.DropLast()
			errs = append(errs, call.ItemError(i, err))
		}
	}
	return out, errs
}

func streamSettlement(m *queuepb.Settlement, t *queue.Settlement) error {
	switch m.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		t.Action, t.Result = queue.Complete, m.GetResult()
	case queuepb.SettleAction_SETTLE_ACTION_FAIL:
		t.Action, t.Error, t.DelayMs, t.Permanent = queue.Fail, m.GetError(), m.GetDelayMs(), m.GetPermanent()
	case queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		t.Action, t.DelayMs = queue.Release, m.GetDelayMs()
	case queuepb.SettleAction_SETTLE_ACTION_EXTEND:
		t.Action, t.LeaseMs, t.Error = queue.Extend, m.GetLeaseMs(), m.GetError()
	default:
		return &queue.FieldError{Field: "action", Problem: fmt.Sprintf("must be SETTLE_ACTION_COMPLETE, SETTLE_ACTION_FAIL, SETTLE_ACTION_RELEASE or SETTLE_ACTION_EXTEND, not %v", m.GetAction())}
	}
	return nil
}
