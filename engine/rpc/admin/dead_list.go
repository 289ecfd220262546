package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// ListDead implements adminpb.AdminServiceServer.
func (a *Service) ListDead(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	l, err := a.deadList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
		return a.listDeadHere(ctx, l, in)
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	list, out := route.AdminCall(here, adminpb.AdminServiceClient.ListDead), &adminpb.ListDeadResponse{}
	out.NextPageToken, err = a.listAll(ctx, taskListName(&l), in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListDeadRequest{Tenant: in.GetTenant(), Queue: in.GetQueue(), Filter: in.GetFilter(), PageSize: size, PageToken: token}
		page, err := list.At(ctx, at, part)
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += call.TaskBytes(t.GetTask())
			for _, attempt := range t.GetAttempts() {
				bytes += len(attempt.GetError())
			}
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (a *Service) deadList(ctx context.Context, in *adminpb.ListDeadRequest) (shard.List, error) {
	tenant, err := target(ctx, in)
	if err != nil {
		return shard.List{}, err
	}
	match, err := a.match(in.GetFilter())
	return shard.List{Tenant: tenant, Queue: in.GetQueue(), State: shard.Dead, Match: match}, err
}

func (a *Service) listDeadHere(ctx context.Context, l shard.List, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	page, next, err := a.list(ctx, l, in.GetPageSize(), in.GetPageToken())
	if err != nil {
		return nil, a.refuse(err)
	}
	out := &adminpb.ListDeadResponse{NextPageToken: next}
	for i := range page.Tasks {
		out.Tasks = append(out.Tasks, deadTask(l.Tenant, page.IDs[i], &page.Tasks[i]))
	}
	return out, nil
}

// reasons maps causes of death to the constants of the schema.
var reasons = map[queue.Reason]adminpb.DeathReason{
	queue.AttemptsUsedUp: adminpb.DeathReason_DEATH_REASON_ATTEMPTS,
	queue.TimeToLiveOver: adminpb.DeathReason_DEATH_REASON_EXPIRED,

	queue.FailedPermanently: adminpb.DeathReason_DEATH_REASON_PERMANENT,
	queue.DependencyDied:    adminpb.DeathReason_DEATH_REASON_DEPENDENCY,
}

// outcomes maps outcomes of attempts to the constants of the schema.
var outcomes = map[queue.Outcome]adminpb.Outcome{
	queue.Failed:       adminpb.Outcome_OUTCOME_FAILED,
	queue.LeaseExpired: adminpb.Outcome_OUTCOME_LEASE_EXPIRED,
}

func deadTask(tenant string, id queue.ID, f *shard.Found) *adminpb.DeadTask {
	m := &adminpb.DeadTask{
		Task: call.TaskMessage(tenant, id, *f), DiedAtMs: f.DeadRecord.DiedAtMs, Reason: reasons[f.DeadRecord.Reason],
		Attempts: attemptMessages(f.Attempts),
	}
	return m
}

// attemptMessages converts the history of one task.
func attemptMessages(all []storage.NumberedAttempt) (out []*adminpb.Attempt) {
	most := historyBytesMax / max(1, len(all))
	for _, t := range all {
		out = append(out, &adminpb.Attempt{
			Attempt: t.Number, EndedAtMs: t.EndedAtMs, Outcome: outcomes[t.Outcome], Error: cut(t.Error, most),
		})
	}
	return out
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:max(0, most-len(more))], "") + more
}

func (a *Service) match(f *adminpb.DeadFilter) (func(*shard.Found) bool, error) {
	from, before := f.GetDiedFromMs(), f.GetDiedBeforeMs()
	var bad *queue.FieldError
	switch {
	case f.GetReason() < 0 || f.GetReason() > adminpb.DeathReason_DEATH_REASON_DEPENDENCY:
		bad = &queue.FieldError{Field: "filter.reason", Problem: fmt.Sprintf("must be DEATH_REASON_ATTEMPTS, DEATH_REASON_EXPIRED, DEATH_REASON_PERMANENT or DEATH_REASON_DEPENDENCY, not %d", f.GetReason())}
	case len(f.GetErrorContains()) > a.limits.ErrorBytesMax:
		bad = &queue.FieldError{Field: "filter.error_contains", Problem: fmt.Sprintf("has %d bytes: use at most %d, the maximum of an error text", len(f.GetErrorContains()), a.limits.ErrorBytesMax)}
	default:
		bad = checkTimes("filter.died_from_ms", "filter.died_before_ms", from, before)
	}
	var has func(*shard.Found) bool
	if bad == nil {
		has, bad = headerMatch("filter.", f.GetKind(), f.GetHeader())
	}
	if bad != nil {
		return nil, bad
	}
	return func(d *shard.Found) bool {
		r := &d.DeadRecord
		return (f.GetReason() == 0 || reasons[r.Reason] == f.GetReason()) &&
			strings.Contains(d.LastError, f.GetErrorContains()) &&
			(has == nil || has(d)) &&
			r.DiedAtMs >= from && (before == 0 || r.DiedAtMs < before)
	}, nil
}
