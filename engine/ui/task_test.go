package ui

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestPayloadsAreReadable(t *testing.T) {
	for _, c := range []struct{ raw, kind, text, shown string }{
		{"", "text", "", ""},
		{`{"a":[1]}`, "JSON", "{\n  \"a\": [\n    1\n  ]\n}", ""},
		{"{not JSON}\n", "text", "{not JSON}\n", ""},
		{"grün\tx", "text", "grün\tx", ""},
		{"\x00\x01", "bytes", "00000000  00 01                                             |..|\n", ""},
		{"bell\x07", "bytes", "00000000  62 65 6c 6c 07                                    |bell.|\n", ""},
		{"override\u202e", "bytes", "00000000  6f 76 65 72 72 69 64 65  e2 80 ae                 |override...|\n", ""},
	} {
		p := readable("Payload", []byte(c.raw))
		assert.Equal(t, []string{c.kind, c.text, c.shown}, []string{p.Kind, p.Text, p.Shown})
		assert.EqualValues(t, len(c.raw), p.Bytes)
	}
	p := readable("Payload", []byte(strings.Repeat("ä", payloadTextMax)))
	assert.Equal(t, "text", p.Kind)
	assert.Equal(t, "the first 64.0 KiB", p.Shown)
	assert.Equal(t, strings.Repeat("ä", payloadTextMax/2), p.Text)
	p = readable("Payload", []byte(strings.Repeat("\x00", payloadTextMax)))
	assert.Equal(t, "the first 4.0 KiB", p.Shown)
	assert.Less(t, len(p.Text), 6*payloadHexMax)
	p = readable("Payload", []byte("["+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)+"]"))
	assert.LessOrEqual(t, len(p.Text), payloadTextMax, "indentation does not exceed the limit")
}

func TestATaskIsFoundByItsId(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "task?tenant=acme&id=+1-abc+")
	assert.Contains(t, text, "<h1>Task 1-abc</h1>")
	assert.Contains(t, text, "<dt>Progress</dt><dd>row 5,000 of &lt;12,000&gt;</dd>")
	w := s.send(http.MethodGet, Root+"task?tenant=acme&id=1-other", nil)
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Body.String(), "there is no such task")
}

func TestTheKeptResultOfADoneTaskIsShown(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "task?tenant=acme&id=1-done")
	assert.Contains(t, text, "<dt>Completed</dt><dd>2026-09-21 14:13:21 UTC</dd>")
	assert.Contains(t, text, "&#34;sent&#34;: true")
	s.tasks.result.State = queuepb.TaskState_TASK_STATE_DEAD
	assert.Equal(t, http.StatusNotFound, s.send(http.MethodGet, Root+"task?tenant=acme&id=1-done", nil).Code)
}

func TestTasksArePaged(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "queue?tenant=acme&queue=mail&state=delayed&kind=welcome&header=trace%3Da%3Db&page=P")
	in := last[*adminpb.ListTasksRequest](s)
	assert.Equal(t, []any{"acme", "mail", queuepb.TaskState_TASK_STATE_DELAYED, "welcome", uint32(rows), "P"},
		[]any{in.GetTenant(), in.GetQueue(), in.GetState(), in.GetKind(), in.GetPageSize(), in.GetPageToken()})
	assert.Equal(t, []string{"trace", "a=b"}, []string{in.GetHeader().GetKey(), in.GetHeader().GetValue()})
	assert.Contains(t, text, `href="/ui/queue?header=trace%3Da%3Db&amp;kind=welcome&amp;page=TOKEN&amp;queue=mail&amp;state=delayed&amp;tenant=acme"`)
	s.get(Root + "queue?tenant=acme&queue=mail&state=invented")
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, last[*adminpb.ListTasksRequest](s).GetState())

	assert.Nil(t, last[*adminpb.ListTasksRequest](s).GetHeader())
	w := s.send(http.MethodGet, Root+"queue?tenant=acme&queue=mail&header=trace", nil)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "has no value")
	s.admin.tasks = nil
	assert.Contains(t, s.get(Root+"queue?tenant=acme&queue=mail&kind=rare"), "No task matches so far.")

	text = s.get(Root + "dead?tenant=acme&queue=mail&kind=welcome&page=P")
	dead := last[*adminpb.ListDeadRequest](s)
	assert.Equal(t, []any{"acme", "mail", "welcome", uint32(rows), "P"}, []any{dead.GetTenant(), dead.GetQueue(), dead.GetFilter().GetKind(), dead.GetPageSize(), dead.GetPageToken()})
	assert.Contains(t, text, `href="/ui/dead?kind=welcome&amp;page=TOKEN&amp;queue=mail&amp;tenant=acme"`)
	w = s.send(http.MethodGet, Root+"dead?tenant=acme&queue=mail&before=x", nil)
	assert.Equal(t, http.StatusBadRequest, w.Code)
}
