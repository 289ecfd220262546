package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

const (
	// pageBytesMax is about how many bytes of payloads and errors a page has: with the largest task on top it is still
	// below the 4 MiB that a gRPC client takes unless told otherwise.
	pageBytesMax = 1 << 20
	// historyBytesMax is how many bytes of errors the history of one task has.
	historyBytesMax = 1 << 20
)

// listed are the states that can be listed.
var listed = map[queuepb.TaskState]shard.TaskState{
	queuepb.TaskState_TASK_STATE_READY:   shard.Ready,
	queuepb.TaskState_TASK_STATE_DELAYED: shard.Delayed,
	queuepb.TaskState_TASK_STATE_LEASED:  shard.Leased,
	queuepb.TaskState_TASK_STATE_DEAD:    shard.Dead,
}

// taskList checks what a list of tasks is asked for.
func (a *Service) taskList(ctx context.Context, in *adminpb.ListTasksRequest) (shard.List, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	state, can := listed[in.GetState()]
	if err == nil && !can {
		err = &queue.FieldError{Field: "state", Problem: fmt.Sprintf("%v can't be listed: use READY, DELAYED, LEASED or DEAD", in.GetState())}
	}
	return shard.List{Tenant: tenant, Queue: in.GetQueue(), State: state}, err
}

// listTasksHere is the call on the shards that this node leads.
func (a *Service) listTasksHere(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	l, err := a.taskList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	page, next, err := a.list(ctx, l, in.GetPageSize(), in.GetPageToken())
	if err != nil {
		return nil, a.refuse(err)
	}
	out := &adminpb.ListTasksResponse{NextPageToken: next}
	for i := range page.Tasks {
		out.Tasks = append(out.Tasks, call.TaskMessage(l.Tenant, page.IDs[i], page.Tasks[i]))
	}
	return out, nil
}

func taskListName(l *shard.List) uint64 {
	return listName("tasks", l.Tenant, l.Queue, strconv.Itoa(int(l.State)))
}

// list returns one page of tasks, and the token of the next. Of a cluster, it is one of the page's shard alone: others may
// lead the shards that follow.
func (a *Service) list(ctx context.Context, l shard.List, size uint32, token string) (page shard.ListPage, next string, err error) {
	if l.Limit, err = pageSize(size); err != nil {
		return page, "", err
	}
	l.BytesMax = pageBytesMax
	list := taskListName(&l)
	at, err := parsePageToken(list, token)
	if err != nil {
		return page, "", err
	}
	from := parseTaskPlace(at)
	if a.router != nil {
		page, err = a.shards.Page(ctx, l, from)
	} else {
		page, err = a.shards.List(ctx, l, from)
	}
	if errors.Is(err, storage.ErrPlace) {
		err = errPageToken
	}
	if err == nil && page.Next != nil {
		next = pageToken(list, taskPlace(page.Next))
	}
	return page, next, err
}

// cancelTasksHere is the call on the shards that this node leads.
func (a *Service) cancelTasksHere(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	tenant, err := adminTenant(ctx, in.GetTenant())
	if err != nil {
		return nil, a.refuse(err)
	}
	results, _, err := a.change(ctx, shard.Cancel, tenant, in.GetIds())
	if err != nil {
		return nil, a.refuse(err)
	}
	return &adminpb.CancelTasksResponse{Results: results}, nil
}

// deadList checks what a list of dead tasks is asked for.
func (a *Service) deadList(ctx context.Context, in *adminpb.ListDeadRequest) (shard.List, error) {
	tenant, err := target(ctx, in.GetTenant(), in.GetQueue())
	if err != nil {
		return shard.List{}, err
	}
	match, err := a.match(in.GetFilter())
	return shard.List{Tenant: tenant, Queue: in.GetQueue(), State: shard.Dead, Match: match}, err
}

// listDeadHere is the call on the shards that this node leads.
func (a *Service) listDeadHere(ctx context.Context, in *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	l, err := a.deadList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
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

// reasons are why a task is dead, as the wire has them.
var reasons = map[queue.Reason]adminpb.DeathReason{
	queue.AttemptsUsedUp: adminpb.DeathReason_DEATH_REASON_ATTEMPTS,
	queue.TimeToLiveOver: adminpb.DeathReason_DEATH_REASON_EXPIRED,
}

// outcomes are how attempts end, as the wire has them.
var outcomes = map[queue.Outcome]adminpb.Outcome{
	queue.Failed:       adminpb.Outcome_OUTCOME_FAILED,
	queue.LeaseExpired: adminpb.Outcome_OUTCOME_LEASE_EXPIRED,
}

func deadTask(tenant string, id queue.ID, f *shard.Found) *adminpb.DeadTask {
	m := &adminpb.DeadTask{
		Task: call.TaskMessage(tenant, id, *f), DiedAtMs: f.DeadRecord.DiedAtMs, Reason: reasons[f.DeadRecord.Reason],
	}
	most := historyBytesMax / max(1, len(f.Attempts))
	for _, t := range f.Attempts {
		m.Attempts = append(m.Attempts, &adminpb.Attempt{
			Attempt: t.Number, EndedAtMs: t.EndedAtMs, Outcome: outcomes[t.Outcome], Error: cut(t.Error, most),
		})
	}
	return m
}

// cut shortens a text to a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:max(0, most-len(more))], "") + more
}

// match checks a filter of dead tasks, and returns what it chooses.
func (a *Service) match(f *adminpb.DeadFilter) (func(*shard.Found) bool, error) {
	from, before := f.GetDiedFromMs(), f.GetDiedBeforeMs()
	var bad *queue.FieldError
	switch {
	case f.GetReason() < 0 || f.GetReason() > adminpb.DeathReason_DEATH_REASON_EXPIRED:
		bad = &queue.FieldError{Field: "filter.reason", Problem: fmt.Sprintf("%d is not known: use ATTEMPTS or EXPIRED", f.GetReason())}
	case len(f.GetErrorContains()) > a.limits.ErrorBytesMax:
		bad = &queue.FieldError{Field: "filter.error_contains", Problem: fmt.Sprintf("has %d bytes, and no error has more than %d", len(f.GetErrorContains()), a.limits.ErrorBytesMax)}
	case from < 0:
		bad = &queue.FieldError{Field: "filter.died_from_ms", Problem: fmt.Sprintf("%d is negative: pass Unix milliseconds", from)}
	case before < 0:
		bad = &queue.FieldError{Field: "filter.died_before_ms", Problem: fmt.Sprintf("%d is negative: pass Unix milliseconds", before)}
	case before > 0 && from >= before:
		bad = &queue.FieldError{Field: "filter.died_from_ms", Problem: fmt.Sprintf("%d is not before died_before_ms, %d", from, before)}
	}
	if bad != nil {
		return nil, bad
	}
	return func(d *shard.Found) bool {
		r := &d.DeadRecord
		return (f.GetReason() == 0 || reasons[r.Reason] == f.GetReason()) &&
			strings.Contains(d.LastError, f.GetErrorContains()) &&
			r.DiedAtMs >= from && (before == 0 || r.DiedAtMs < before)
	}, nil
}

// redriveDeadHere is the call on the shards that this node leads.
func (a *Service) redriveDeadHere(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	results, n, err := a.changeDead(ctx, shard.Redrive, in)
	if err != nil {
		return nil, a.refuse(partly("redrove", n, err))
	}
	return &adminpb.RedriveDeadResponse{Redriven: n, Results: results}, nil
}

// purgeDeadHere is the call on the shards that this node leads.
func (a *Service) purgeDeadHere(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	results, n, err := a.changeDead(ctx, shard.PurgeDead, in)
	if err != nil {
		return nil, a.refuse(partly("removed", n, err))
	}
	return &adminpb.PurgeDeadResponse{Removed: n, Results: results}, nil
}

// choice is which dead tasks a call is for.
type choice interface {
	GetTenant() string
	GetIds() []string
	GetQueue() string
	GetFilter() *adminpb.DeadFilter
}

// chosen checks a choice, and returns the tenant and what it chooses among a queue's dead tasks, if it is no choice of ids.
func (a *Service) chosen(ctx context.Context, in choice) (tenant string, match func(*shard.Found) bool, err error) {
	if tenant, err = adminTenant(ctx, in.GetTenant()); err != nil {
		return "", nil, err
	}
	if len(in.GetIds()) > 0 {
		switch {
		case in.GetQueue() != "":
			err = &queue.FieldError{Field: "queue", Problem: "is set together with ids: set one of them"}
		case in.GetFilter() != nil:
			err = &queue.FieldError{Field: "filter", Problem: "is set together with ids: it chooses among a queue's dead tasks"}
		}
		return tenant, nil, err
	}
	if in.GetQueue() == "" {
		return "", nil, &queue.FieldError{Field: "queue", Problem: "is empty, and so is ids: set one of them"}
	}
	if err := call.FieldErr(queue.CheckName("queue", in.GetQueue())); err != nil {
		return "", nil, err
	}
	match, err = a.match(in.GetFilter())
	return tenant, match, err
}

func (a *Service) changeDead(ctx context.Context, what shard.Change, in choice) ([]*queuepb.SettleResult, uint64, error) {
	tenant, match, err := a.chosen(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	if len(in.GetIds()) > 0 {
		return a.change(ctx, what, tenant, in.GetIds())
	}
	until := a.shards.NowMs() // or those that die again would be redriven again
	n, err := a.shards.ChangeDead(ctx, what, tenant, in.GetQueue(), func(d *shard.Found) bool {
		return d.DeadRecord.DiedAtMs <= until && match(d)
	})
	return nil, n, err
}
