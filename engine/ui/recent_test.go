package ui

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

func TestFailuresAreFiltered(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "failures?tenant=acme&queue=mail")
	in := last[*adminpb.ListFailuresRequest](s)
	assert.Equal(t, []any{"acme", "mail", uint32(rows)}, []any{in.GetTenant(), in.GetQueue(), in.GetPageSize()})
	assert.Contains(t, text, "data-live")
	assert.Contains(t, text, "timeout &lt;after&gt; 5 s")
	assert.Contains(t, text, "dead: expired")
}

func TestATaskHasItsAttempts(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	path := Root + "task?tenant=acme&id=1-abc"
	assert.Contains(t, s.get(path), "2026-09-21 14:13:21 UTC, failed: timeout &lt;after&gt; 5 s")
	in := last[*adminpb.ListAttemptsRequest](s)
	assert.Equal(t, []string{"acme", "1-abc"}, []string{in.GetTenant(), in.GetId()})
	for code, want := range map[codes.Code]int{
		codes.PermissionDenied: http.StatusOK, codes.NotFound: http.StatusOK, codes.Unavailable: http.StatusServiceUnavailable,
	} {
		s.admin.err = status.Error(code, "no")
		assert.Equal(t, want, s.send(http.MethodGet, path, nil).Code)
	}
}
