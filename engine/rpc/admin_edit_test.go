package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestADeadTaskIsEditedAndRedriven(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 1, Payload: []byte("wrong"), Headers: map[string]string{"kind": "welcome"}})
	task := s.claim("q")
	id := task.GetId()
	_, err := a.EditDead(s.ctx, &adminpb.EditDeadRequest{Id: id, Payload: []byte("early")})
	assert.Equal(t, codes.NotFound, status.Code(err), "it is leased")
	s.fail(task, "broke", 0)
	for _, c := range []struct {
		in      *adminpb.EditDeadRequest
		payload string
		headers map[string]string
	}{
		{&adminpb.EditDeadRequest{Payload: []byte("right")}, "right", map[string]string{"kind": "welcome"}},
		{&adminpb.EditDeadRequest{Headers: map[string]string{"kind": "other"}}, "right", map[string]string{"kind": "other"}},
		{&adminpb.EditDeadRequest{Payload: []byte{}, RemoveHeaders: true}, "", nil},
		{&adminpb.EditDeadRequest{Payload: []byte("last"), Headers: map[string]string{"a": "b"}}, "last", map[string]string{"a": "b"}},
	} {
		c.in.Id = id
		_, err := a.EditDead(s.ctx, c.in)
		require.NoError(t, err)
		got := s.look(id)
		assert.Equal(t, c.payload, string(got.GetPayload()))
		assert.Equal(t, c.headers, got.GetHeaders())
		assert.Equal(t, stateDead, got.GetState())
	}
	for field, in := range map[string]*adminpb.EditDeadRequest{
		"id": {Id: "?", Payload: []byte("x")}, "payload": {Id: id}, "tenant": {Tenant: "?", Id: id, Payload: []byte("x")},
		"remove_headers": {Id: id, Headers: map[string]string{"a": "b"}, RemoveHeaders: true}, "headers": {Id: id, Headers: map[string]string{"A": "b"}},
		"payload large": {Id: id, Payload: make([]byte, 1<<20+1)},
	} {
		_, err := a.EditDead(s.ctx, in)
		requireField(t, strings.Fields(field)[0], err)
	}
	_, err = a.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Ids: []string{id}})
	require.NoError(t, err)
	again := s.claim("q")
	assert.Equal(t, "last", string(again.GetPayload()))
	assert.Equal(t, map[string]string{"a": "b"}, again.GetHeaders())
	assert.Equal(t, "broke", again.GetLastError())
}
