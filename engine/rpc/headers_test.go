package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

func headed(kind string) *queuepb.NewTask {
	return &queuepb.NewTask{Queue: "q", Payload: []byte("payload"), MaxAttempts: 1, Headers: map[string]string{"kind": kind, "empty": ""}}
}

func requireHeaded(t *testing.T, kind string, task *queuepb.Task) {
	t.Helper()
	require.Equal(t, map[string]string{"kind": kind, "empty": ""}, task.GetHeaders())
	require.Equal(t, "payload", string(task.GetPayload()))
}

// A task has its headers in each state and in each answer, whether or not its payload is in memory.
func TestTasksHaveTheirHeaders(t *testing.T) {
	for _, cache := range []int64{1 << 20, 1} {
		t.Run(fmt.Sprint(cache), func(t *testing.T) {
			s := serve(t, func(c *node.Config) { c.Queue.CacheBytesMax = cache })
			admin := s.administer()
			one := func(state queuepb.TaskState) *queuepb.Task {
				t.Helper()
				tasks := s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: state})
				require.Len(t, tasks, 1)
				return tasks[0]
			}
			p := s.produce()
			p.send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{headed("a")}})
			id := p.answers(1)[0].GetIds()[0]
			require.NoError(t, p.CloseSend())
			require.NoError(t, p.end())
			requireHeaded(t, "a", s.look(id))
			requireHeaded(t, "a", one(stateReady))

			task := s.claim("q")
			requireHeaded(t, "a", task)
			requireHeaded(t, "a", one(stateLeased))
			s.fail(task, "why", 0)
			requireHeaded(t, "a", one(stateDead))
			dead := s.listDead(admin, nil)
			require.Len(t, dead, 1)
			requireHeaded(t, "a", dead[0].GetTask())
			_, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q"})
			require.NoError(t, err)

			delayed := headed("b")
			delayed.DelayMs = 3600_000
			s.enqueue(headed("c"), &queuepb.NewTask{Queue: "q"}, delayed)
			requireHeaded(t, "b", one(stateDelayed))
			tasks := s.work(3, "q").take(3)
			requireHeaded(t, "a", tasks[0])
			requireHeaded(t, "c", tasks[1])
			require.Empty(t, tasks[2].GetHeaders())
			require.Empty(t, tasks[2].GetPayload())
		})
	}
}

func TestATaskWithBadHeadersIsRefusedAlone(t *testing.T) {
	s := serve(t, nil)
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprint(i)] = ""
	}
	for field, headers := range map[string]map[string]string{
		"headers":        many,
		"headers ":       {"Kind": "v"},
		"headers[kind]":  {"kind": "a\x00"},
		"headers[trace]": {"trace": strings.Repeat("v", 1<<10+1)},
	} {
		bad, good := headed("a"), headed("b")
		bad.Headers = headers
		out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{bad, good}})
		require.NoError(t, err)
		requireItemError(t, out.GetResults()[0].GetError(), codeInvalid, strings.TrimSpace(field))
		requireHeaded(t, "b", s.claim("q"))
		assert.Empty(t, s.claimNow(1, "q"))
	}
}

// The quota of payload bytes limits only the payload; that of all bytes limits headers too.
func TestHeadersCountAgainstTheQuotaOfBytes(t *testing.T) {
	g := guard(t)
	api := g.as("t0", access.AllScopes)
	task := headed("a")
	bytes := int64(len(task.GetPayload()) + queue.HeadersBytes(task.GetHeaders()))
	enqueue := func() *queuepb.ItemError {
		t.Helper()
		out, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{task}})
		require.NoError(t, err)
		return out.GetResults()[0].GetError()
	}
	g.configure(access.Quotas{BytesMax: uint64(queue.QueueBytes("t0", "q") + queue.TaskBytes(int(bytes)) - 1), PayloadBytesMax: 7})
	requireExhaustedItem(t, "bytes_max", enqueue())
	g.configure(access.Quotas{BytesMax: uint64(queue.QueueBytes("t0", "q") + queue.TaskBytes(int(bytes))), PayloadBytesMax: 7})
	require.Nil(t, enqueue())
	requireExhaustedItem(t, "bytes_max", enqueue())
}

func TestTasksAreListedByKind(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	for range 3 {
		s.enqueue(headed("a"), headed("b"), &queuepb.NewTask{Queue: "q", MaxAttempts: 1})
	}
	ids := func(state queuepb.TaskState, kind string) (out []string) {
		t.Helper()
		for _, task := range s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: state, Kind: kind, PageSize: 2}) {
			require.Equal(t, state, task.GetState())
			out = append(out, task.GetHeaders()["kind"])
		}
		return out
	}
	require.Len(t, ids(stateReady, ""), 9)
	require.Equal(t, []string{"a", "a", "a"}, ids(stateReady, "a"))
	require.Empty(t, ids(stateReady, "c"))
	tasks := s.claimNow(9, "q")
	require.Equal(t, []string{"b", "b", "b"}, ids(stateLeased, "b"))
	for i, task := range tasks[:6] {
		s.fail(task, fmt.Sprint(i), 0)
	}
	require.Equal(t, []string{"b", "b"}, ids(stateDead, "b"))
	dead := s.listDead(admin, &adminpb.DeadFilter{Kind: "a"})
	require.Len(t, dead, 2)
	requireHeaded(t, "a", dead[0].GetTask())
	redriven, err := admin.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q", Filter: &adminpb.DeadFilter{Kind: "b"}})
	require.NoError(t, err)
	require.EqualValues(t, 2, redriven.GetRedriven())
	require.Equal(t, []string{"b", "b"}, ids(stateReady, "b"))
	require.Empty(t, ids(stateDead, "b"))

	for header, n := range map[*adminpb.HeaderFilter]int{
		{Key: "kind", Value: "b"}: 2, {Key: "empty"}: 2, {Key: "empty", Value: "x"}: 0, {Key: "other"}: 0,
	} {
		require.Len(t, s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Kind: "b", Header: header, PageSize: 1}), n, "%v", header)
		require.Empty(t, s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Kind: "a", Header: header}))
	}
	require.Len(t, s.listDead(admin, &adminpb.DeadFilter{Header: &adminpb.HeaderFilter{Key: "empty"}}), 2)
	require.Empty(t, s.listDead(admin, &adminpb.DeadFilter{Header: &adminpb.HeaderFilter{Key: "empty", Value: "x"}}))

	_, err = admin.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Header: &adminpb.HeaderFilter{}})
	requireField(t, "header", err)
	_, err = admin.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "q", Filter: &adminpb.DeadFilter{Header: &adminpb.HeaderFilter{Key: "A"}}})
	requireField(t, "filter.header", err)
	_, err = admin.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Kind: "a\n"})
	requireField(t, "kind", err)
	_, err = admin.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "q", Filter: &adminpb.DeadFilter{Kind: "a\n"}})
	requireField(t, "filter.kind", err)
}
