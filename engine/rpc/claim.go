package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// claimHere claims tasks at the shards that this node leads. It leases no more tasks once ctx ends
// or settled is closed. If ctx ends, claimHere releases the tasks that it has leased; if settled is
// closed, it returns them. If no task is returned, the answer names the quota that the tenant has
// used up.
func (s *Service) claimHere(ctx context.Context, claim queue.Claim, waitMs uint64, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	s.quotas.AwaitRoom(ctx, claim.Tenant, 0, nil, 1)
	before := s.usedUp(claim.Tenant)
	out, err := s.claimReadyOrWait(ctx, claim, waitMs, settled)
	if err == nil && len(out.GetTasks()) == 0 {
		out.Quota = cmp.Or(s.usedUp(claim.Tenant), before)
	}
	return out, err
}

// usedUp returns the name of the quota that prevents further leases of a tenant, or "".
func (s *Service) usedUp(tenant string) string {
	var quota *queue.QuotaError
	if errors.As(s.quotas.CheckLeases(tenant), &quota) {
		return quota.Quota
	}
	return ""
}

func (s *Service) claimReadyOrWait(ctx context.Context, claim queue.Claim, waitMs uint64, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	if waitMs == 0 {
		return s.claimNow(ctx, claim)
	}
	// A waiting claim receives tasks from only one shard, so first try to claim ready tasks at all
	// shards.
	if s.shards.Len() > 1 {
		if out, err := s.claimNow(ctx, claim); err != nil || len(out.GetTasks()) > 0 {
			return out, err
		}
	}
	return s.claimWaiting(ctx, claim, time.Duration(waitMs)*time.Millisecond, settled)
}

func (s *Service) checkClaim(ctx context.Context, in *queuepb.ClaimRequest) (queue.Claim, error) {
	claim, err := s.claim(ctx, in.GetTenant(), in.GetQueues(), in.GetWeights(), in.GetLeaseMs())
	claim.Credit, claim.Once, claim.BytesMax = max(1, int(in.GetMaxTasks())), true, s.claimBytes()
	if err == nil {
		err = call.FieldErr(s.limits.CheckMaxTasks(in.GetMaxTasks()))
	}
	if err == nil {
		err = call.FieldErr(s.limits.CheckWait(in.GetWaitMs()))
	}
	if n := len(in.GetCompletions()); err == nil && n > 0 {
		err = call.FieldErr(s.limits.CheckBatch("completions", n))
	}
	return claim, err
}

// claimNow answers with the tasks that are ready now.
func (s *Service) claimNow(ctx context.Context, claim queue.Claim) (*queuepb.ClaimResponse, error) {
	h := newHandOver[[]shard.Granted](func(all []shard.Granted) {
		for _, g := range all {
			s.giveBack(claim.Tenant, g.Shard, g.Tasks)
		}
	})
	if err := s.shards.Claim(claim, h.put); err != nil {
		return nil, s.refuse(err)
	}
	stages.Submitted(ctx)
	select {
	case a := <-h.out: // a shard answers every command that it accepted, even when it stops
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

// handOver passes leased tasks to a call. If the call has already ended, handOver passes them to
// giveBack.
type handOver[T any] struct {
	out      chan shard.Reply[T] // capacity 1
	left     atomic.Bool
	giveBack func(T)
}

func newHandOver[T any](giveBack func(T)) *handOver[T] {
	return &handOver[T]{out: make(chan shard.Reply[T], 1), giveBack: giveBack}
}

func (h *handOver[T]) put(v T, err error) {
	h.out <- shard.Reply[T]{Value: v, Err: err}
	if h.left.Load() {
		h.drop()
	}
}

func (h *handOver[T]) leave() {
	h.left.Store(true)
	h.drop()
}

// If the channel contains a value that the call will not receive, drop passes the value to
// giveBack. Either put sees that the call has left, or leave finds the value. If both happen, only
// one of them receives the value from the channel.
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
	// A claim is granted at most once.
	h := newHandOver[shard.Granted](func(g shard.Granted) { s.giveBack(claim.Tenant, g.Shard, g.Tasks) })
	failed := make(chan error, 1)
	sub, err := s.shards.Subscribe(claim,
		func(n uint16, d []queue.Delivery) { h.put(shard.Granted{Shard: n, Tasks: d}, nil) }, func(err error) { failed <- err }, nil)
	if err != nil {
		return nil, s.refuse(err)
	}
	stages.Submitted(ctx)
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
	// Tasks may be granted until the subscription has ended. Return them, unless the caller can no
	// longer receive them.
	closed := make(chan struct{})
	sub.Close(func() { close(closed) })
	var paused []string
	select {
	case <-closed:
		paused = sub.Paused()
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
	return &queuepb.ClaimResponse{PausedQueues: mergePaused(nil, paused)}, nil
}

// mergePaused appends to names those names of paused queues that it does not contain yet.
func mergePaused(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// callerGone returns nil while the caller can receive tasks. Otherwise it returns why not: the
// caller's token or the call has ended.
func callerGone(ctx context.Context) error {
	select {
	case <-call.TokenEnded(ctx):
		return access.ErrEnded
	default:
		return ctx.Err()
	}
}

func deliveryBytes(d *queue.Delivery) int { return call.ItemBytes + len(d.Payload) + len(d.LastError) }

// claimed answers a claim with the leased tasks that fit into an answer, and releases the others.
func (s *Service) claimed(ctx context.Context, tenant string, all ...shard.Granted) (*queuepb.ClaimResponse, error) {
	held := 0
	for _, l := range all {
		for i := range l.Tasks {
			held += deliveryBytes(&l.Tasks[i])
		}
	}
	s.bounds.Brought(held)         // a small claim may use as much memory as an enqueue
	if call.LinkOf(ctx).Unread() { // check again: other claims may have been answered meanwhile
		for _, l := range all {
			s.giveBack(tenant, l.Shard, l.Tasks)
		}
		return nil, s.refuse(call.ErrUnread)
	}
	out := &queuepb.ClaimResponse{}
	for _, l := range all {
		out.PausedQueues = mergePaused(out.GetPausedQueues(), l.Paused)
	}
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

// giveBack releases leased tasks that are not in any answer.
func (s *Service) giveBack(tenant string, shard uint16, d []queue.Delivery) {
	if len(d) == 0 {
		return
	}
	back := make([]queue.Settlement, len(d))
	for i := range back {
		back[i] = queue.Settlement{Shard: shard, Ref: d[i].Ref, Token: d[i].Token, Action: queue.Release}
	}
	// If the server is stopping, the shards refuse the release, and the leases expire.
	_ = s.shards.Settle(tenant, back, func([]error, error) {})
}

func (s *Service) claim(ctx context.Context, tenant string, queues []string, weights []uint32, leaseMs uint64) (queue.Claim, error) {
	if len(weights) == 0 {
		weights = nil // REST may pass an empty list
	}
	tenant, err := call.Tenant(ctx, access.Work, tenant)
	if err == nil {
		err = call.FieldErr(s.limits.CheckClaim(queues, weights, leaseMs))
	}
	return queue.Claim{Tenant: tenant, Queues: queues, Weights: weights, LeaseMs: leaseMs}, err
}

func leasedTasks(shard uint16, deliveries []queue.Delivery) []*queuepb.Task {
	messages := make([]queuepb.Task, len(deliveries))
	out := make([]*queuepb.Task, len(deliveries))
	var ids queue.IDTexts
	text := make([]byte, 0, len(deliveries)*queue.IDLen)
	for i := range deliveries {
		text = ids.Append(text, queue.ID{Shard: shard, Ref: deliveries[i].Ref})
	}
	all := string(text)
	for i := range deliveries {
		d, m := &deliveries[i], &messages[i]
		m.Id = all[i*queue.IDLen : (i+1)*queue.IDLen]
		m.Tenant = d.Queue.Tenant()
		m.Queue = d.Queue.Name()
		m.Priority = uint32(d.CurrentPriority())
		headers, payload := d.Split()
		m.Payload = payload
		m.Attempt = d.Attempt
		m.MaxAttempts = d.MaxAttempts
		m.Token = d.Token
		m.LeaseExpiresAtMs = d.ExpiresAtMs
		m.EnqueuedAtMs = d.EnqueuedAtMs
		m.State = queuepb.TaskState_TASK_STATE_LEASED
		m.LastError = d.LastError
		m.Headers = headers.Map()
		if d.Extras != nil {
			m.ExpiresAtMs = d.Extras.ExpiresAtMs
		}
		out[i] = m
	}
	return out
}
