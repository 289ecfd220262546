package rpc

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// Service implements prony.queue.v1.QueueService. It is safe for concurrent use.
type Service struct {
	queuepb.UnimplementedQueueServiceServer

	shards *shard.Group
	limits queue.Limits
	quotas *access.Registry
	router *route.Router // nil without a cluster
	bounds *call.Bounds

	stopping chan struct{}
	stopOnce sync.Once
}

// NewService serves the shards of a group. The quotas of calls are the registry's; who may call, NewServer's Auth says.
func NewService(g *shard.Group, limits queue.Limits, quotas *access.Registry) *Service {
	return &Service{shards: g, limits: limits, quotas: quotas, bounds: call.Unbounded(), stopping: make(chan struct{})}
}

// InCluster has the service be one node's of a cluster: unary calls go where their shards are led, and refusals say
// who leads. It is called before the service is served.
func (s *Service) InCluster(r *route.Router) {
	r.Stopping = s.stopping
	s.router = r
}

// Within sets the bounds of the service and its servers. The caller calls it before it makes the servers.
func (s *Service) Within(b *call.Bounds) { s.bounds = b }

// refuse returns the status for an error, with the leader if another node leads.
func (s *Service) refuse(err error) error {
	return call.Status(route.Explain(s.router.Cluster(), err))
}

// refuseItem returns the item error for an error, with the leader if another node leads.
func (s *Service) refuseItem(index int, err error) *queuepb.ItemError {
	return call.ItemError(index, route.Explain(s.router.Cluster(), err))
}

// Stop ends all streams, after the answers they owe, and all waiting claims.
func (s *Service) Stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// holdWhenStopping keeps a stream from reading further frames once the server stops: what was read is
// answered, and then the stream ends. A busy client would keep it open otherwise.
func (s *Service) holdWhenStopping(stream context.Context) error {
	select {
	case <-s.stopping:
		<-stream.Done()
		return stream.Err()
	default:
		return nil
	}
}

// enqueueHere is the call on the shards that this node leads.
func (s *Service) enqueueHere(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	tenant, err := call.Tenant(ctx, access.Produce, in.GetTenant())
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch("tasks", len(in.GetTasks())))
	}
	if err == nil {
		err = s.takeEnqueues(ctx, tenant, in.GetTasks())
	}
	if err != nil {
		return nil, s.refuse(err)
	}
	tasks, places, errs := s.newTasks(tenant, in.GetTasks())
	ids := make([]string, len(in.GetTasks()))
	var results []queue.Enqueued
	if len(tasks) > 0 {
		results, err = call.Await(ctx, func(reply func([]queue.Enqueued, error)) error {
			return s.shards.Enqueue(tenant, tasks, reply)
		})
		s.returnEnqueues(tenant, len(tasks), results, err)
		if err != nil {
			return nil, s.refuse(err)
		}
		writeIDs(results, places, ids)
		errs = s.appendEnqueueErrors(errs, results, places)
	}
	out := &queuepb.EnqueueResponse{Results: make([]*queuepb.EnqueueResult, len(ids))}
	for i, id := range ids {
		out.Results[i] = &queuepb.EnqueueResult{Id: id}
	}
	for i := range results {
		out.Results[call.Place(places, i)].Duplicate = results[i].Duplicate
	}
	for _, e := range errs {
		out.Results[e.GetIndex()].Error = e
	}
	return out, nil
}

// takeEnqueues takes tasks from what the tenant's rate allows. It first waits, for a bounded time, until this node's share of the
// quotas has room for them.
func (s *Service) takeEnqueues(ctx context.Context, tenant string, tasks []*queuepb.NewTask) error {
	s.quotas.AwaitRoom(ctx, tenant, len(tasks), func() (bytes int64) {
		for _, t := range tasks {
			bytes += queue.TaskBytes(len(t.GetPayload()))
		}
		return bytes
	}, 0)
	return s.quotas.TakeEnqueues(tenant, len(tasks))
}

// returnEnqueues gives back what takeEnqueues took for tasks of shards that another node leads, since that node takes it again.
func (s *Service) returnEnqueues(tenant string, tasks int, results []queue.Enqueued, err error) {
	if s.router == nil {
		return
	}
	elsewhere := 0
	if call.IsMisrouted(err) {
		elsewhere = tasks
	}
	for i := range results {
		if call.IsMisrouted(results[i].Err) {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		s.quotas.ReturnEnqueues(tenant, elsewhere)
	}
}

func (s *Service) appendEnqueueErrors(errs []*queuepb.ItemError, results []queue.Enqueued, places []int) []*queuepb.ItemError {
	for i := range results {
		if results[i].Err != nil {
			errs = append(errs, s.refuseItem(call.Place(places, i), results[i].Err))
		}
	}
	return errs
}

// claimHere is the call on the shards that this node leads. Once ctx ends, or settled is closed, nothing more is leased:
// what ctx's end comes upon is given back, since nobody waits for it, and what settled comes upon is returned.
func (s *Service) claimHere(ctx context.Context, in *queuepb.ClaimRequest, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	claim, err := s.checkClaim(ctx, in)
	if err != nil {
		return nil, s.refuse(err)
	}
	s.quotas.AwaitRoom(ctx, claim.Tenant, 0, nil, 1)
	if in.GetWaitMs() == 0 {
		if err := s.quotas.CheckLeases(claim.Tenant); err != nil {
			return nil, s.refuse(err)
		}
		return s.claimNow(ctx, claim)
	}
	if s.shards.Len() > 1 { // who waits is granted what one shard has: first see what all have
		if out, err := s.claimNow(ctx, claim); err != nil || len(out.GetTasks()) > 0 {
			return out, err
		}
	}
	return s.claimWaiting(ctx, claim, time.Duration(in.GetWaitMs())*time.Millisecond, settled)
}

// checkClaim checks and converts a claim.
func (s *Service) checkClaim(ctx context.Context, in *queuepb.ClaimRequest) (queue.Claim, error) {
	claim, err := s.claim(ctx, in.GetTenant(), in.GetQueues(), in.GetWeights(), in.GetLeaseMs())
	claim.Credit, claim.Once, claim.BytesMax = max(1, int(in.GetMaxTasks())), true, s.claimBytes()
	switch {
	case err != nil:
	case claim.Credit > s.limits.BatchMax:
		err = &queue.FieldError{Field: "max_tasks", Problem: fmt.Sprintf("%d is above %d", in.GetMaxTasks(), s.limits.BatchMax)}
	default:
		err = s.checkWait(in.GetWaitMs())
	}
	return claim, err
}

// claimNow answers with what is ready.
func (s *Service) claimNow(ctx context.Context, claim queue.Claim) (*queuepb.ClaimResponse, error) {
	h := newHandOver[[]shard.Granted](func(all []shard.Granted) {
		for _, g := range all {
			s.giveBack(claim.Tenant, g.Shard, g.Tasks)
		}
	})
	if err := s.shards.Claim(claim, h.put); err != nil {
		return nil, s.refuse(err)
	}
	select {
	case a := <-h.out: // a shard answers every command it accepted, also when it stops
		if a.Err != nil {
			return nil, s.refuse(a.Err)
		}
		return s.claimed(ctx, claim.Tenant, a.Value...)
	case <-call.TokenEnded(ctx):
		h.leave()
		return nil, s.refuse(access.ErrEnded)
	case <-ctx.Done():
		h.leave()
		return nil, s.refuse(ctx.Err())
	}
}

// handOver passes what was leased to a call. If the call ends before that, handingOut gives the leases back.
type handOver[T any] struct {
	out      chan call.Answer[T] // has room for one
	left     atomic.Bool
	giveBack func(T)
}

func newHandOver[T any](giveBack func(T)) *handOver[T] {
	return &handOver[T]{out: make(chan call.Answer[T], 1), giveBack: giveBack}
}

// put passes the value to the call; it does not block.
func (h *handOver[T]) put(v T, err error) {
	h.out <- call.Answer[T]{Value: v, Err: err}
	if h.left.Load() {
		h.drop()
	}
}

// leave records that the call has ended.
func (h *handOver[T]) leave() {
	h.left.Store(true)
	h.drop()
}

// drop gives back a value that the call does not receive any more. put sees that the call has left, or leave finds the value; if
// both do, only one of them receives it.
func (h *handOver[T]) drop() {
	select {
	case a := <-h.out:
		if a.Err == nil {
			h.giveBack(a.Value)
		}
	default:
	}
}

func (s *Service) claimWaiting(ctx context.Context, claim queue.Claim, most time.Duration, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	h := newHandOver[shard.Granted](func(g shard.Granted) { s.giveBack(claim.Tenant, g.Shard, g.Tasks) }) // a claim is granted once
	failed := make(chan error, 1)
	sub, err := s.shards.Subscribe(claim,
		func(n uint16, d []queue.Delivery) { h.put(shard.Granted{Shard: n, Tasks: d}, nil) }, func(err error) { failed <- err })
	if err != nil {
		return nil, s.refuse(err)
	}
	var refused error
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case a := <-h.out:
		sub.Close(func() {})
		return s.claimed(ctx, claim.Tenant, a.Value)
	case refused = <-failed:
	case <-wait.C:
	case <-settled:
	case <-s.stopping:
	case <-call.TokenEnded(ctx):
	case <-ctx.Done():
	}
	// Tasks that were granted before the subscription ended must still be returned, unless the caller is gone.
	closed := make(chan struct{})
	sub.Close(func() { close(closed) })
	select {
	case <-closed:
	case <-call.TokenEnded(ctx):
	case <-ctx.Done():
	}
	if err := callerGone(ctx); err != nil {
		h.leave()
		return nil, s.refuse(err)
	}
	select {
	case a := <-h.out:
		return s.claimed(ctx, claim.Tenant, a.Value)
	default:
	}
	if refused == nil {
		select {
		case refused = <-failed:
		default:
		}
	}
	if refused != nil {
		return nil, s.refuse(refused)
	}
	return &queuepb.ClaimResponse{}, nil
}

// callerGone returns why the caller cannot receive a task any more, because its token or call has ended, or nil.
func callerGone(ctx context.Context) error {
	select {
	case <-call.TokenEnded(ctx):
		return access.ErrEnded
	default:
		return ctx.Err()
	}
}

// deliveryBytes returns about how large the message of a granted task is.
func deliveryBytes(d *queue.Delivery) int { return call.ItemBytes + len(d.Payload) + len(d.LastError) }

// claimed answers a claim with as many tasks as fit into an answer, and gives the others back at once.
func (s *Service) claimed(ctx context.Context, tenant string, all ...shard.Granted) (*queuepb.ClaimResponse, error) {
	held := 0
	for _, l := range all {
		for i := range l.Tasks {
			held += deliveryBytes(&l.Tasks[i])
		}
	}
	s.bounds.Brought(held)         // a claim of a few bytes brings as much into memory as an enqueue
	if call.LinkOf(ctx).Unread() { // check again: other claims may have been answered meanwhile
		for _, l := range all {
			s.giveBack(tenant, l.Shard, l.Tasks)
		}
		return nil, s.refuse(call.ErrUnread)
	}
	out := &queuepb.ClaimResponse{}
	bytes, full := int64(0), false
	for _, l := range all {
		n := 0
		for n < len(l.Tasks) && !full {
			bytes += int64(deliveryBytes(&l.Tasks[n]))
			if full = bytes > s.claimBytes() && len(out.GetTasks())+n > 0; !full {
				n++
			}
		}
		if n < len(l.Tasks) {
			s.giveBack(tenant, l.Shard, l.Tasks[n:])
		}
		out.Tasks = append(out.Tasks, leasedTasks(l.Shard, l.Tasks[:n])...)
	}
	return out, nil
}

// giveBack releases what was leased and is not handed out.
func (s *Service) giveBack(tenant string, shard uint16, d []queue.Delivery) {
	back := make([]queue.Settlement, len(d))
	for i := range back {
		back[i] = queue.Settlement{Shard: shard, Ref: d[i].Ref, Token: d[i].Token, Action: queue.Release}
	}
	// A server that is stopping refuses: then the leases expire in their time.
	_ = s.shards.Settle(tenant, back, func([]error, error) {})
}

func (s *Service) claim(ctx context.Context, tenant string, queues []string, weights []uint32, leaseMs uint64) (queue.Claim, error) {
	if len(weights) == 0 {
		weights = nil // over REST an empty list may come
	}
	tenant, err := call.Tenant(ctx, access.Work, tenant)
	if err == nil {
		err = call.FieldErr(s.limits.CheckClaim(queues, weights, leaseMs))
	}
	return queue.Claim{Tenant: tenant, Queues: queues, Weights: weights, LeaseMs: leaseMs}, err
}

// completeHere is the call on the shards that this node leads.
func (s *Service) completeHere(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "completions", in.GetCompletions(),
		func(m *queuepb.Completion, t *queue.Settlement) error {
			t.Action, t.Result = queue.Complete, m.GetResult()
			return nil
		})
	return &queuepb.CompleteResponse{Results: results}, err
}

// failHere is the call on the shards that this node leads.
func (s *Service) failHere(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "failures", in.GetFailures(),
		func(m *queuepb.Failure, t *queue.Settlement) error {
			t.Action, t.Error, t.DelayMs = queue.Fail, m.GetError(), m.GetDelayMs()
			return nil
		})
	return &queuepb.FailResponse{Results: results}, err
}

// extendHere is the call on the shards that this node leads.
func (s *Service) extendHere(ctx context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "extensions", in.GetExtensions(),
		func(m *queuepb.Extension, t *queue.Settlement) error {
			t.Action, t.LeaseMs = queue.Extend, m.GetLeaseMs()
			return nil
		})
	return &queuepb.ExtendResponse{Results: results}, err
}

// releaseHere is the call on the shards that this node leads.
func (s *Service) releaseHere(ctx context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	results, err := settle(ctx, s, in.GetTenant(), "releases", in.GetReleases(),
		func(m *queuepb.Releasing, t *queue.Settlement) error {
			t.Action, t.DelayMs = queue.Release, m.GetDelayMs()
			return nil
		})
	return &queuepb.ReleaseResponse{Results: results}, err
}

// settle carries out one settling call.
func settle[T item](ctx context.Context, s *Service, tenant, field string, in []T,
	fill func(T, *queue.Settlement) error,
) ([]*queuepb.SettleResult, error) {
	tenant, err := call.Tenant(ctx, access.Work, tenant)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, len(in)))
	}
	if err != nil {
		return nil, s.refuse(err)
	}
	ts, places, errs := settlements(s, in, fill)
	if len(ts) > 0 {
		outcomes, err := call.Await(ctx, func(reply func([]error, error)) error { return s.shards.Settle(tenant, ts, reply) })
		if err != nil {
			return nil, s.refuse(err)
		}
		errs = route.AppendSettleErrors(s.router.Cluster(), errs, outcomes, places)
	}
	return call.SettleResults(len(in), errs), nil
}

// getTaskHere is the call on the shards that this node leads.
func (s *Service) getTaskHere(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	tenant, err := call.Tenant(ctx, access.Produce|access.Work, in.GetTenant())
	if err != nil {
		return nil, s.refuse(err)
	}
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return nil, call.Status(call.IDError(err))
	}
	found, err := call.Await(ctx, func(reply func(shard.Found, error)) error { return s.shards.Lookup(tenant, id, reply) })
	if err != nil {
		return nil, s.refuse(err)
	}
	return &queuepb.GetTaskResponse{Task: call.TaskMessage(tenant, id, found)}, nil
}

// claimBytes is the approximate limit of the answer to a claim. One task always fits.
func (s *Service) claimBytes() int64 { return s.bounds.Shares().ClaimBytes }
