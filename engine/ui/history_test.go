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

func TestFinishedTasksAreShown(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	path := Root + "queue?tenant=acme&queue=mail&state=finished&kind=welcome&header=trace%3Da%3Db"
	text := s.get(path + "&page=P")
	in := last[*adminpb.ListHistoryRequest](s)
	assert.Equal(t, []any{"acme", "mail", "welcome", "trace", uint32(rows), "P"}, []any{in.GetTenant(), in.GetQueue(), in.GetKind(), in.GetHeader().GetKey(), in.GetPageSize(), in.GetPageToken()})
	assert.Contains(t, text, `href="/ui/queue?header=trace%3Da%3Db&amp;kind=welcome&amp;page=TOKEN&amp;queue=mail&amp;state=finished&amp;tenant=acme"`)
	assert.Contains(t, text, `aria-current="page">finished</a>`)
	assert.Contains(t, text, `died <span class="tag">attempts</span>`)
	assert.Contains(t, text, "timeout &lt;after&gt; 5 s")
	assert.NotContains(t, text, "Cancel selected tasks")
	s.admin.history = nil
	assert.Contains(t, s.get(path), "No task matches so far.")
	s.admin.next = ""
	assert.NotContains(t, s.get(path), "The queue has no history")
	s.admin.queues[0].Policy = nil
	assert.Contains(t, s.get(path), "The queue has no history")
	s.admin.err = status.Error(codes.Unavailable, "no")
	assert.Equal(t, http.StatusServiceUnavailable, s.send(http.MethodGet, path, nil).Code)
}

// A task that is not stored is searched in the history of its queue, page by page.
func TestAFinishedTaskIsFoundByItsID(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	s.tasks.task = nil
	path := Root + "task?tenant=acme&id=1-old"
	text := s.get(path)
	in := last[*adminpb.ListHistoryRequest](s)
	assert.Equal(t, []string{"acme", "1-old", "", "second"}, []string{in.GetTenant(), in.GetId(), in.GetQueue(), in.GetPageToken()})
	assert.Contains(t, text, "<h2>Finished</h2>")
	assert.Contains(t, text, "2026-09-21 14:13:21 UTC")
	s.admin.history = nil
	assert.Equal(t, http.StatusNotFound, s.send(http.MethodGet, path, nil).Code)
}
