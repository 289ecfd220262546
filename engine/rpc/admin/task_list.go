package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

const (
	// pageBytesMax limits the bytes of payloads, headers and error texts on a page. The last task may exceed
	// the limit, but the page stays below 4 MiB, the default limit of a gRPC client.
	pageBytesMax = 1 << 20
	// historyBytesMax limits the bytes of error texts in the history of one task.
	historyBytesMax = 1 << 20
)

// ListTasks implements adminpb.AdminServiceServer.
func (a *Service) ListTasks(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	l, err := a.taskList(ctx, in)
	if err != nil {
		return nil, a.refuse(err)
	}
	here := func(ctx context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
		return a.listTasksHere(ctx, l, in)
	}
	if !a.router.Routes(ctx) {
		return here(ctx, in)
	}
	list, out := route.AdminCall(here, adminpb.AdminServiceClient.ListTasks), &adminpb.ListTasksResponse{}
	out.NextPageToken, err = a.listAll(ctx, taskListName(&l), in.GetPageSize(), in.GetPageToken(), func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error) {
		part := &adminpb.ListTasksRequest{
			Tenant: in.GetTenant(), Queue: in.GetQueue(), State: in.GetState(), Kind: in.GetKind(), Header: in.GetHeader(), PageSize: size, PageToken: token,
			PayloadBytesMax: in.GetPayloadBytesMax(),
		}
		page, err := list.At(ctx, at, part)
		if err != nil {
			return 0, 0, "", err
		}
		cutPayloads(page, in.GetPayloadBytesMax()) // an older server ignores the limit
		out.Tasks, out.PayloadBytes = append(out.Tasks, page.GetTasks()...), append(out.PayloadBytes, page.GetPayloadBytes()...)
		for _, t := range page.GetTasks() {
			bytes += call.TaskBytes(t)
		}
		return len(page.GetTasks()), bytes, page.GetNextPageToken(), nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// listed maps the states that can be listed to the states of package shard.
var listed = map[queuepb.TaskState]shard.TaskState{
	queuepb.TaskState_TASK_STATE_READY:   shard.Ready,
	queuepb.TaskState_TASK_STATE_DELAYED: shard.Delayed,
	queuepb.TaskState_TASK_STATE_WAITING: shard.Waiting,
	queuepb.TaskState_TASK_STATE_LEASED:  shard.Leased,
	queuepb.TaskState_TASK_STATE_DEAD:    shard.Dead,
}

func (a *Service) taskList(ctx context.Context, in *adminpb.ListTasksRequest) (shard.List, error) {
	tenant, err := target(ctx, in)
	state, can := listed[in.GetState()]
	if err == nil && !can {
		err = &queue.FieldError{Field: "state", Problem: fmt.Sprintf("must be TASK_STATE_READY, TASK_STATE_DELAYED, TASK_STATE_WAITING, TASK_STATE_LEASED or TASK_STATE_DEAD, not %v", in.GetState())}
	}
	l := shard.List{Tenant: tenant, Queue: in.GetQueue(), State: state}
	if err != nil {
		return l, err
	}
	match, bad := headerMatch("", in.GetKind(), in.GetHeader())
	l.Match = match
	return l, call.FieldErr(bad)
}

func (a *Service) listTasksHere(ctx context.Context, l shard.List, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	page, next, err := a.list(ctx, l, in.GetPageSize(), in.GetPageToken())
	if err != nil {
		return nil, a.refuse(err)
	}
	out := &adminpb.ListTasksResponse{NextPageToken: next}
	for i := range page.Tasks {
		out.Tasks = append(out.Tasks, call.TaskMessage(l.Tenant, page.IDs[i], page.Tasks[i]))
	}
	cutPayloads(out, in.GetPayloadBytesMax())
	return out, nil
}

// cutPayloads cuts those payloads of a page whose sizes are not in PayloadBytes yet. A limit of 0
// means that payloads are not cut.
func cutPayloads(page *adminpb.ListTasksResponse, most uint32) {
	if most == 0 {
		return
	}
	for _, t := range page.GetTasks()[len(page.GetPayloadBytes()):] {
		page.PayloadBytes = append(page.PayloadBytes, uint64(len(t.GetPayload())))
		t.Payload = t.GetPayload()[:min(len(t.GetPayload()), int(most))]
	}
}

func taskListName(l *shard.List) uint64 {
	return call.ListName("tasks", l.Tenant, l.Queue, strconv.Itoa(int(l.State)))
}

// list returns one page of tasks and the token of the next page. In a cluster, a page contains
// tasks of only one shard, since other nodes may lead the next shards.
func (a *Service) list(ctx context.Context, l shard.List, size uint32, token string) (page shard.ListPage, next string, err error) {
	if l.Limit, err = call.PageSize(size); err != nil {
		return page, "", err
	}
	l.BytesMax = pageBytesMax
	list := taskListName(&l)
	at, err := call.ParsePageToken(list, token)
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
		err = call.ErrPageToken
	}
	if err == nil && page.Next != nil {
		next = call.PageToken(list, taskPlace(page.Next))
	}
	return page, next, err
}

// listMoreBytesMax limits the bytes of a page that may still include tasks of the next shard.
const listMoreBytesMax = 256 << 10

// listAll reads a page of the list with a name: one shard after another, each at its leader, until the
// page is full. The function page requests and stores a page of one shard. It returns the number and
// the bytes of the tasks, and the token of the next page.
func (a *Service) listAll(ctx context.Context, list uint64, size uint32, token string,
	page func(ctx context.Context, at *route.Target, size uint32, token string) (tasks, bytes int, next string, err error),
) (next string, err error) {
	left, err := call.PageSize(size)
	if err != nil {
		return "", call.Status(err)
	}
	at, err := call.ParsePageToken(list, token)
	if err != nil {
		return "", call.Status(err)
	}
	place := parseTaskPlace(at)
	if place.Shard >= a.router.Shards() {
		return "", call.Status(call.ErrPageToken)
	}
	has, bytes := len(at) > 0, 0 // after the first page, the queue is known to exist
	for ; place.Shard < a.router.Shards(); place = (shard.ListPlace{Shard: place.Shard + 1}) {
		if left <= 0 || bytes > listMoreBytesMax {
			return call.PageToken(list, taskPlace(&place)), nil
		}
		next, err := route.Follow(ctx, a.router, place.Shard, true, route.ForwardMax, func(ctx context.Context, at *route.Target) (string, error) {
			tasks, more, next, err := page(ctx, at, uint32(left), call.PageToken(list, taskPlace(&place)))
			left -= tasks
			bytes += more
			return next, err
		})
		switch {
		case route.IsAbsent(err):
			continue
		case err != nil:
			return "", err
		case next != "":
			return next, nil
		}
		has = true
	}
	if !has {
		return "", call.Status(shard.ErrNoQueue)
	}
	return "", nil
}
