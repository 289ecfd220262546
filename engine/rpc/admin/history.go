package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// ListHistory implements adminpb.AdminServiceServer.
func (a *Service) ListHistory(ctx context.Context, in *adminpb.ListHistoryRequest) (*adminpb.ListHistoryResponse, error) {
	l, err := historyList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, in *adminpb.ListHistoryRequest) (*adminpb.ListHistoryResponse, error) {
		return a.listHistoryHere(ctx, l, in)
	}
	if l.ID != nil {
		return atLeader(ctx, a, int(l.ID.Shard), true, in, here, adminpb.AdminServiceClient.ListHistory)
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	list, out := route.AdminCall(here, adminpb.AdminServiceClient.ListHistory), &adminpb.ListHistoryResponse{}
	out.NextPageToken, err = a.listAll(ctx, historyName(&l), in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListHistoryRequest{
			Tenant: in.GetTenant(), Queue: in.GetQueue(), Kind: in.GetKind(), Header: in.GetHeader(), Finish: in.GetFinish(),
			FinishedFromMs: in.GetFinishedFromMs(), FinishedBeforeMs: in.GetFinishedBeforeMs(), PageSize: size, PageToken: token,
		}
		page, err := list.At(ctx, at, part)
		out.Tasks = append(out.Tasks, page.GetTasks()...)
		for _, t := range page.GetTasks() {
			bytes += len(t.GetLastError())
			for key, value := range t.GetHeaders() {
				bytes += len(key) + len(value)
			}
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func historyName(l *shard.HistoryList) uint64 {
	id := ""
	if l.ID != nil {
		id = l.ID.String()
	}
	return call.ListName("history", l.Tenant, l.Queue, id)
}

func historyList(ctx context.Context, in *adminpb.ListHistoryRequest) (l shard.HistoryList, err error) {
	l = shard.HistoryList{Queue: in.GetQueue(), BytesMax: pageBytesMax}
	if in.GetId() != "" && in.GetQueue() == "" {
		l.Tenant, err = call.Tenant(ctx, access.Admin, in.GetTenant())
	} else {
		l.Tenant, err = target(ctx, in)
	}
	if err != nil {
		return l, err
	}
	if in.GetId() != "" {
		id, err := queue.ParseID(in.GetId())
		if err != nil {
			return l, call.IDError(err)
		}
		l.ID = &id
	}
	from, before := in.GetFinishedFromMs(), in.GetFinishedBeforeMs()
	bad := checkTimes("finished_from_ms", "finished_before_ms", from, before)
	if f := in.GetFinish(); bad == nil && (f < 0 || f > adminpb.Finish_FINISH_PURGED) {
		bad = &queue.FieldError{Field: "finish", Problem: fmt.Sprintf("must be FINISH_COMPLETED, FINISH_DIED, FINISH_CANCELLED or FINISH_PURGED, not %d", f)}
	}
	var has func(queue.Headers) bool
	if bad == nil {
		has, bad = headersMatch("", in.GetKind(), in.GetHeader())
	}
	l.Match = func(f *queue.Finished) bool {
		return (in.GetFinish() == 0 || finishes[f.How] == in.GetFinish()) && f.FinishedAtMs >= from && (before == 0 || f.FinishedAtMs < before) &&
			(has == nil || has(f.Headers))
	}
	return l, call.FieldErr(bad)
}

// checkTimes checks a range of times, whose ends are two fields; 0 means no limit.
func checkTimes(fromField, beforeField string, from, before int64) *queue.FieldError {
	switch {
	case from < 0:
		return &queue.FieldError{Field: fromField, Problem: fmt.Sprintf("must be 0 or more, Unix milliseconds, not %d", from)}
	case before < 0:
		return &queue.FieldError{Field: beforeField, Problem: fmt.Sprintf("must be 0 or more, Unix milliseconds, not %d", before)}
	case before > 0 && from >= before:
		return &queue.FieldError{Field: fromField, Problem: fmt.Sprintf("must be less than %s, %d, not %d", beforeField, before, from)}
	}
	return nil
}

func (a *Service) listHistoryHere(ctx context.Context, l shard.HistoryList, in *adminpb.ListHistoryRequest) (*adminpb.ListHistoryResponse, error) {
	var err error
	if l.Limit, err = call.PageSize(in.GetPageSize()); err != nil {
		return nil, a.refuse(err)
	}
	at, err := call.ParsePageToken(historyName(&l), in.GetPageToken())
	if err != nil {
		return nil, a.refuse(err)
	}
	from := parseTaskPlace(at)
	var page shard.HistoryPage
	if a.router != nil {
		if l.ID != nil {
			from.Shard = int(l.ID.Shard)
		}
		page, err = a.shards.HistoryAt(ctx, l, from)
	} else {
		page, err = a.shards.History(ctx, l, from)
	}
	if errors.Is(err, storage.ErrPlace) {
		err = call.ErrPageToken
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	out := &adminpb.ListHistoryResponse{}
	for i := range page.Tasks {
		out.Tasks = append(out.Tasks, finishedTask(&page.Tasks[i]))
	}
	if page.Next != nil {
		out.NextPageToken = call.PageToken(historyName(&l), taskPlace(page.Next))
	}
	return out, nil
}

// finishes maps the ends of tasks to the constants of the schema.
var finishes = map[queue.Finish]adminpb.Finish{
	queue.FinishCompleted: adminpb.Finish_FINISH_COMPLETED,
	queue.FinishDied:      adminpb.Finish_FINISH_DIED,
	queue.FinishCancelled: adminpb.Finish_FINISH_CANCELLED,
	queue.FinishPurged:    adminpb.Finish_FINISH_PURGED,
}

func finishedTask(f *shard.FinishedTask) *adminpb.FinishedTask {
	return &adminpb.FinishedTask{
		Id: f.ID.String(), Queue: f.Queue, Priority: uint32(f.Ref.Shifted(f.PriorityShift)), Finish: finishes[f.How], DeathReason: reasons[f.Reason],
		Attempts: f.Attempts, EnqueuedAtMs: f.EnqueuedAtMs, FirstClaimedAtMs: f.Claims.FirstMs, LastClaimedAtMs: f.Claims.LastMs,
		FinishedAtMs: f.FinishedAtMs, Headers: f.Headers.Map(), LastError: f.LastError,
	}
}
