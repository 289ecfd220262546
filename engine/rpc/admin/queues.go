package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// queueList is what a list of queues was asked for.
type queueList struct {
	tenant                 string // "" for all
	size                   int
	list                   uint64
	goesOn                 bool // after:
	afterTenant, afterName string
}

// queueList checks what a list of queues is asked for.
func (a *Service) queueList(ctx context.Context, in *adminpb.ListQueuesRequest) (l queueList, err error) {
	l.tenant, err = adminTenantOrAll(ctx, in.GetTenant())
	if err == nil && in.GetPrefix() != "" {
		err = call.FieldErr(queue.CheckName("prefix", in.GetPrefix()))
	}
	if err != nil {
		return l, err
	}
	if l.size, err = pageSize(in.GetPageSize()); err != nil {
		return l, err
	}
	l.list = listName("queues", l.tenant, in.GetPrefix())
	at, err := parsePageToken(l.list, in.GetPageToken())
	if err != nil {
		return l, err
	}
	l.goesOn = at != nil
	l.afterTenant, l.afterName, err = parseQueuePlace(at)
	return l, err
}

// listQueuesHere is the call on the shards that this node leads.
func (a *Service) listQueuesHere(ctx context.Context, in *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	l, err := a.queueList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	all, err := call.Await(ctx, a.shards.Stats)
	if err != nil {
		return nil, a.refuse(err)
	}
	all = slices.DeleteFunc(all, func(q queue.Stats) bool {
		return l.tenant != "" && q.Tenant != l.tenant || !strings.HasPrefix(q.Name, in.GetPrefix()) ||
			l.goesOn && cmp.Or(cmp.Compare(q.Tenant, l.afterTenant), cmp.Compare(q.Name, l.afterName)) <= 0
	})
	slices.SortFunc(all, func(p, q queue.Stats) int {
		return cmp.Or(cmp.Compare(p.Tenant, q.Tenant), cmp.Compare(p.Name, q.Name))
	})
	out := &adminpb.ListQueuesResponse{}
	for i := range all[:min(l.size, len(all))] {
		out.Queues = append(out.Queues, a.queueMessage(&all[i]))
	}
	if len(all) > l.size {
		last := &all[l.size-1]
		out.NextPageToken = pageToken(l.list, queuePlace(last.Tenant, last.Name))
	}
	return out, nil
}

// getQueueHere is the call on the shards that this node leads.
func (a *Service) getQueueHere(ctx context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	q, err := a.shards.QueueStats(ctx, tenant, in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.GetQueueResponse{Queue: a.queueMessage(&q)}, nil
}

// configureQueueHere is the call on the shards that this node leads.
func (a *Service) configureQueueHere(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	policy, err := a.policy(in.GetPolicy())
	if err != nil {
		return nil, a.refuse(err)
	}
	if err := a.shards.Configure(ctx, tenant, in.GetQueue(), policy); err != nil {
		return nil, a.refuse(err)
	}
	q, err := a.shards.QueueStats(ctx, tenant, in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.ConfigureQueueResponse{Queue: a.queueMessage(&q)}, nil
}

// policy checks and converts a policy.
func (a *Service) policy(in *adminpb.QueuePolicy) (p queue.Policy, err error) {
	if in == nil {
		return p, &queue.FieldError{Field: "policy", Problem: "is missing: say what is to hold; an empty one sets the server's defaults"}
	}
	p = queue.Policy{
		MaxAttempts: in.GetMaxAttempts(), LeaseMs: in.GetLeaseMs(), Backoff: call.BackoffOf(in.GetBackoff()),
		TTLMs: in.GetTtlMs(), RetentionMs: in.GetResultRetentionMs(),
	}
	switch in.GetPlacement() {
	case adminpb.Placement_PLACEMENT_UNSPECIFIED, adminpb.Placement_PLACEMENT_SPREAD:
		p.Placement = queue.Spread
	case adminpb.Placement_PLACEMENT_ORDERED:
		p.Placement = queue.Ordered
	default:
		return p, &queue.FieldError{Field: "policy.placement", Problem: fmt.Sprintf("%d is not known: use SPREAD or ORDERED", in.GetPlacement())}
	}
	if bad := a.limits.CheckPolicy(&p); bad != nil {
		return p, &queue.FieldError{Field: "policy." + bad.Field, Problem: bad.Problem}
	}
	return p, nil
}

// pauseQueueHere is the call on the shards that this node leads.
func (a *Service) pauseQueueHere(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return &adminpb.PauseQueueResponse{}, a.pause(ctx, in.GetTenant(), in.GetQueue(), true)
}

// resumeQueueHere is the call on the shards that this node leads.
func (a *Service) resumeQueueHere(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	return &adminpb.ResumeQueueResponse{}, a.pause(ctx, in.GetTenant(), in.GetQueue(), false)
}

// pause refuses a queue that is not there: it would be a misspelt one.
func (a *Service) pause(ctx context.Context, tenant, name string, paused bool) error {
	tenant, err := target(ctx, tenant, name)
	if err == nil && a.router == nil { // of a cluster, the node that was asked looks: the queue may be in others' shards
		_, err = a.shards.QueueStats(ctx, tenant, name)
	}
	if err == nil {
		err = a.shards.Pause(ctx, tenant, name, paused)
	}
	return a.refuse(err)
}

// purgeQueueHere is the call on the shards that this node leads.
func (a *Service) purgeQueueHere(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	removed, err := a.shards.Purge(ctx, tenant, in.GetQueue())
	if err != nil {
		return nil, a.refuse(partly("removed", removed, err))
	}
	return &adminpb.PurgeQueueResponse{Removed: removed}, nil
}

// deleteQueueHere executes the call on the shards that this node leads.
func (a *Service) deleteQueueHere(ctx context.Context, in *adminpb.DeleteQueueRequest) (*adminpb.DeleteQueueResponse, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err != nil {
		return nil, a.refuse(err)
	}
	removed, err := a.shards.Delete(ctx, tenant, in.GetQueue(), in.GetForce())
	if err != nil {
		return nil, a.refuse(partly("removed", removed, err))
	}
	return &adminpb.DeleteQueueResponse{Removed: removed}, nil
}

// partly says what a call did before it failed.
func partly(what string, n uint64, err error) error {
	if n == 0 || errors.Is(err, shard.ErrNoQueue) {
		return err
	}
	return fmt.Errorf("%s %d tasks, and then: %w", what, n, err)
}

func (a *Service) queueMessage(q *queue.Stats) *adminpb.Queue {
	m := &adminpb.Queue{
		Tenant: q.Tenant, Queue: q.Name, Paused: q.Paused, Policy: policyMessage(&q.Policy),
		Ready: q.Ready, Delayed: q.Delayed, Leased: q.Leased, Dead: q.Dead, Bytes: q.Bytes,
		Enqueued: q.Enqueued, Completed: q.Completed, Removed: q.Removed,
		EnqueuedPerS: q.EnqueuedPerS, CompletedPerS: q.CompletedPerS,
	}
	if q.ReadySinceMs != math.MaxInt64 {
		m.OldestReadyAgeMs = uint64(max(0, a.shards.NowMs()-q.ReadySinceMs))
	}
	return m
}

func policyMessage(p *queue.Policy) *adminpb.QueuePolicy {
	m := &adminpb.QueuePolicy{
		Placement: adminpb.Placement_PLACEMENT_SPREAD, MaxAttempts: p.MaxAttempts, LeaseMs: p.LeaseMs,
		TtlMs: p.TTLMs, ResultRetentionMs: p.RetentionMs,
	}
	if p.Placement == queue.Ordered {
		m.Placement = adminpb.Placement_PLACEMENT_ORDERED
	}
	if b := p.Backoff; b != (queue.Backoff{}) {
		m.Backoff = &queuepb.Backoff{
			InitialMs: b.InitialMs, MaxMs: b.MaxMs, MultiplierPercent: b.MultiplierPercent, JitterPercent: b.JitterPercent,
		}
	}
	return m
}
