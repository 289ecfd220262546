package queuedtest

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// Now returns the time of the server's clock, in milliseconds.
func (s *Server) Now() time.Time { return time.UnixMilli(s.shards.NowMs()) }

// Advance moves the server's clock ahead. When it returns, the tasks that became due are ready, and
// the leases that expired have ended.
func (s *Server) Advance(d time.Duration) {
	s.t.Helper()
	if d < 0 {
		s.t.Fatalf("queuedtest: Advance(%v): the clock cannot move back", d)
	}
	s.ahead.Add(int64(d))
	s.shards.ClockMoved()
	if _, err := shard.AwaitReply(s.t.Context(), s.shards.Stats); err != nil { // a turn at the new time
		s.t.Fatalf("queuedtest: advance the clock: %v", err)
	}
}

// Tasks returns the tasks of a queue of the tenant "default" that are neither done nor dead, in the
// order in which they were enqueued.
func (s *Server) Tasks(queue string) []*queuepb.Task {
	s.t.Helper()
	var all []*queuepb.Task
	for _, state := range []queuepb.TaskState{
		queuepb.TaskState_TASK_STATE_READY, queuepb.TaskState_TASK_STATE_DELAYED, queuepb.TaskState_TASK_STATE_WAITING, queuepb.TaskState_TASK_STATE_LEASED,
	} {
		in := &adminpb.ListTasksRequest{Queue: queue, State: state, PageSize: pageSize}
		for more := true; more; more = in.GetPageToken() != "" {
			out, err := s.Admin.ListTasks(s.t.Context(), in)
			if status.Code(err) == codes.NotFound { // nothing was enqueued yet
				return nil
			}
			if err != nil {
				s.t.Fatalf("queuedtest: list the tasks of queue %q: %v", queue, err)
			}
			all = append(all, out.GetTasks()...)
			in.PageToken = out.GetNextPageToken()
		}
	}
	slices.SortStableFunc(all, func(a, b *queuepb.Task) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return all
}

// Dead returns the dead letters of a queue of the tenant "default", each with the reason and the
// attempts that failed.
func (s *Server) Dead(queue string) []*adminpb.DeadTask {
	s.t.Helper()
	var all []*adminpb.DeadTask
	in := &adminpb.ListDeadRequest{Queue: queue, PageSize: pageSize}
	for more := true; more; more = in.GetPageToken() != "" {
		out, err := s.Admin.ListDead(s.t.Context(), in)
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err != nil {
			s.t.Fatalf("queuedtest: list the dead letters of queue %q: %v", queue, err)
		}
		all = append(all, out.GetTasks()...)
		in.PageToken = out.GetNextPageToken()
	}
	return all
}

const pageSize = 1_000
