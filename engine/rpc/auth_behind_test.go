package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// noRecords is an empty access store.
type noRecords struct{}

func (noRecords) Load(context.Context) ([]access.Record, error) { return nil, nil }

func (noRecords) Save(context.Context, []access.Record, []string) error { return nil }

// A node that has just started may not know a valid token yet, and must not report it as invalid.
func TestATokenIsNotBadWhileTheNodeIsBehind(t *testing.T) {
	registry := access.New(access.Options{})
	require.NoError(t, registry.Load(t.Context(), noRecords{}))
	behind := true
	auth := call.NewAuthBehind(registry, func() bool { return behind })
	refusal := func(authorization string) (refused error) {
		guard := auth.Guard(http.NotFoundHandler(), func(_ http.ResponseWriter, err error) { refused = err })
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		guard.ServeHTTP(httptest.NewRecorder(), request)
		return refused
	}
	const unknown = "Bearer prony_0123456789abcdef0123456789abcdef"
	s := status.Convert(refusal(unknown))
	assert.Equal(t, codes.Unavailable, s.Code())
	require.Len(t, s.Details(), 1)
	assert.IsType(t, &queuepb.NotLeader{}, s.Details()[0], "the call had no effect")
	assert.Equal(t, codes.Unauthenticated, status.Code(refusal("")), "a missing token never becomes valid")
	assert.Equal(t, codes.Unauthenticated, status.Code(refusal("Basic x")))
	behind = false
	assert.Equal(t, codes.Unauthenticated, status.Code(refusal(unknown)))
}
