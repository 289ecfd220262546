package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// The list of ready tasks shows the next tasks with a part of their payloads, and leases none.
func TestTheNextTasksAreSeen(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	ids := s.enqueue(&queuepb.NewTask{Queue: "q", Payload: []byte("long payload")}, &queuepb.NewTask{Queue: "q", Priority: 5, Payload: []byte("abc")}, &queuepb.NewTask{Queue: "q", Priority: 5, Headers: map[string]string{"kind": "welcome"}})
	out, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: 9, PayloadBytesMax: 4})
	require.NoError(t, err)
	var seen []string
	for _, task := range out.GetTasks() {
		seen = append(seen, task.GetId())
	}
	want := []string{ids[1], ids[2], ids[0]}
	require.Equal(t, want, seen)
	assert.Equal(t, []uint64{3, 0, 12}, out.GetPayloadBytes())
	assert.Equal(t, "abc", string(out.GetTasks()[0].GetPayload()))
	assert.Equal(t, "welcome", out.GetTasks()[1].GetHeaders()["kind"])
	assert.Equal(t, "long", string(out.GetTasks()[2].GetPayload()))
	out, err = a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady})
	require.NoError(t, err)
	assert.Empty(t, out.GetPayloadBytes())
	assert.Equal(t, "long payload", string(out.GetTasks()[2].GetPayload()))
	for _, id := range want {
		assert.Equal(t, id, s.claim("q").GetId())
	}
}
