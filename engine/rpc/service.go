// Package rpc is the wire: the gRPC service on top of the shards. It checks what comes in, converts,
// and answers; it decides nothing.
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
	"github.com/pronybench/prony/engine/shard"
)

// Service implements prony.queue.v1.QueueService. It is safe for concurrent use.
type Service struct {
	queuepb.UnimplementedQueueServiceServer

	shards *shard.Group
	limits queue.Limits
	quotas *access.Registry
	router *router // nil without a cluster
	bounds *Bounds

	stopping chan struct{}
	stopOnce sync.Once
}

// NewService serves the shards of a group. The quotas of calls are the registry's; who may call, NewServer's Auth says.
func NewService(g *shard.Group, limits queue.Limits, quotas *access.Registry) *Service {
	return &Service{shards: g, limits: limits, quotas: quotas, bounds: unbounded(), stopping: make(chan struct{})}
}

// InCluster has the service be one node's of a cluster: unary calls go where their shards are led, and refusals say
// who leads. It is called before the service is served.
func (s *Service) InCluster(c Cluster) { s.router = newRouter(c, s.shards.Len(), s.stopping) }

// Within sets the bounds of the service and its servers. The caller calls it before it makes the servers.
func (s *Service) Within(b *Bounds) { s.bounds = b }

// cluster returns the cluster, or nil.
func (s *Service) cluster() Cluster {
	if s.router == nil {
		return nil
	}
	return s.router.cluster
}

// refuse is statusOf, and says who leads where that is the matter.
func (s *Service) refuse(err error) error {
	if s.router != nil {
		err = explain(s.router.cluster, err)
	}
	return statusOf(err)
}

// refuseItem is itemError, and says who leads where that is the matter.
func (s *Service) refuseItem(index int, err error) *queuepb.ItemError {
	if s.router != nil {
		err = explain(s.router.cluster, err)
	}
	return itemError(index, err)
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

// answer is what a shard's reply carries to a waiting call.
type answer[T any] struct {
	value T
	err   error
}

// await returns what ask's reply was called with. The reply never blocks: its channel has room.
func await[T any](ctx context.Context, ask func(reply func(T, error)) error) (T, error) {
	done := make(chan answer[T], 1)
	var none T
	if err := ask(func(v T, err error) { done <- answer[T]{v, err} }); err != nil {
		return none, err
	}
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// enqueueHere is the call on the shards that this node leads.
func (s *Service) enqueueHere(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	tenant, err := tenantOf(ctx, access.Produce, in.GetTenant())
	if err == nil {
		err = fieldErr(s.limits.CheckBatch("tasks", len(in.GetTasks())))
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
		results, err = await(ctx, func(reply func([]queue.Enqueued, error)) error {
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
		out.Results[place(places, i)].Duplicate = results[i].Duplicate
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
	if isLeadership(err) {
		elsewhere = tasks
	}
	for i := range results {
		if isLeadership(results[i].Err) {
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
			errs = append(errs, s.refuseItem(place(places, i), results[i].Err))
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
	claim.Credit, claim.Once, claim.BytesMax = max(1, int(in.GetMaxTasks())), true, s.bounds.claimBytes()
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
	h := newHandingOut[[]shard.Granted](func(all []shard.Granted) {
		for _, g := range all {
			s.giveBack(claim.Tenant, g.Shard, g.Tasks)
		}
	})
	if err := s.shards.Claim(claim, h.put); err != nil {
		return nil, s.refuse(err)
	}
	select {
	case a := <-h.out: // a shard answers every command it accepted, also when it stops
		if a.err != nil {
			return nil, s.refuse(a.err)
		}
		return s.claimed(ctx, claim.Tenant, a.value...)
	case <-tokenEnded(ctx):
		h.leave()
		return nil, s.refuse(access.ErrEnded)
	case <-ctx.Done():
		h.leave()
		return nil, s.refuse(ctx.Err())
	}
}

// handingOut passes what was leased to a call. If the call ends before that, handingOut gives the leases back.
type handingOut[T any] struct {
	out      chan answer[T] // has room for one
	left     atomic.Bool
	giveBack func(T)
}

func newHandingOut[T any](giveBack func(T)) *handingOut[T] {
	return &handingOut[T]{out: make(chan answer[T], 1), giveBack: giveBack}
}

// put passes the value to the call; it does not block.
func (h *handingOut[T]) put(v T, err error) {
	h.out <- answer[T]{v, err}
	if h.left.Load() {
		h.drop()
	}
}

// leave records that the call has ended.
func (h *handingOut[T]) leave() {
	h.left.Store(true)
	h.drop()
}

// drop gives back a value that the call does not receive any more. put sees that the call has left, or leave finds the value; if
// both do, only one of them receives it.
func (h *handingOut[T]) drop() {
	select {
	case a := <-h.out:
		if a.err == nil {
			h.giveBack(a.value)
		}
	default:
	}
}

func (s *Service) claimWaiting(ctx context.Context, claim queue.Claim, most time.Duration, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	h := newHandingOut[shard.Granted](func(g shard.Granted) { s.giveBack(claim.Tenant, g.Shard, g.Tasks) }) // a claim is granted once
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
		return s.claimed(ctx, claim.Tenant, a.value)
	case refused = <-failed:
	case <-wait.C:
	case <-settled:
	case <-s.stopping:
	case <-tokenEnded(ctx):
	case <-ctx.Done():
	}
	// Tasks that were granted before the subscription ended must still be returned, unless the caller is gone.
	closed := make(chan struct{})
	sub.Close(func() { close(closed) })
	select {
	case <-closed:
	case <-tokenEnded(ctx):
	case <-ctx.Done():
	}
	if err := callerGone(ctx); err != nil {
		h.leave()
		return nil, s.refuse(err)
	}
	select {
	case a := <-h.out:
		return s.claimed(ctx, claim.Tenant, a.value)
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
	case <-tokenEnded(ctx):
		return access.ErrEnded
	default:
		return ctx.Err()
	}
}

// deliveryBytes returns about how large the message of a granted task is.
func deliveryBytes(d *queue.Delivery) int { return itemBytes + len(d.Payload) + len(d.LastError) }

// claimed answers a claim with as many tasks as fit into an answer, and gives the others back at once.
func (s *Service) claimed(ctx context.Context, tenant string, all ...shard.Granted) (*queuepb.ClaimResponse, error) {
	held := 0
	for _, l := range all {
		for i := range l.Tasks {
			held += deliveryBytes(&l.Tasks[i])
		}
	}
	s.bounds.gate.Came(held)  // a claim of a few bytes brings as much into memory as an enqueue
	if linkOf(ctx).Unread() { // check again: other claims may have been answered meanwhile
		for _, l := range all {
			s.giveBack(tenant, l.Shard, l.Tasks)
		}
		return nil, s.refuse(errUnread)
	}
	out := &queuepb.ClaimResponse{}
	bytes, full := int64(0), false
	for _, l := range all {
		n := 0
		for n < len(l.Tasks) && !full {
			bytes += int64(deliveryBytes(&l.Tasks[n]))
			if full = bytes > s.bounds.claimBytes() && len(out.GetTasks())+n > 0; !full {
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
	tenant, err := tenantOf(ctx, access.Work, tenant)
	if err == nil {
		err = fieldErr(s.limits.CheckClaim(queues, weights, leaseMs))
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
	tenant, err := tenantOf(ctx, access.Work, tenant)
	if err == nil {
		err = fieldErr(s.limits.CheckBatch(field, len(in)))
	}
	if err != nil {
		return nil, s.refuse(err)
	}
	ts, places, errs := settlements(s, in, fill)
	if len(ts) > 0 {
		outcomes, err := await(ctx, func(reply func([]error, error)) error { return s.shards.Settle(tenant, ts, reply) })
		if err != nil {
			return nil, s.refuse(err)
		}
		errs = appendSettleErrors(s.cluster(), errs, outcomes, places)
	}
	return settleResults(len(in), errs), nil
}

func appendSettleErrors(c Cluster, errs []*queuepb.ItemError, outcomes []error, places []int) []*queuepb.ItemError {
	for i, err := range outcomes {
		if err != nil {
			errs = append(errs, itemError(place(places, i), explain(c, err)))
		}
	}
	return errs
}

// getTaskHere is the call on the shards that this node leads.
func (s *Service) getTaskHere(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	tenant, err := tenantOf(ctx, access.Produce|access.Work, in.GetTenant())
	if err != nil {
		return nil, s.refuse(err)
	}
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return nil, statusOf(idError(err))
	}
	found, err := await(ctx, func(reply func(shard.Found, error)) error { return s.shards.Lookup(tenant, id, reply) })
	if err != nil {
		return nil, s.refuse(err)
	}
	return &queuepb.GetTaskResponse{Task: foundTask(tenant, id, found)}, nil
}
