package ui

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestAWaitingTaskIsShown(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	s.tasks.task.State, s.tasks.task.WaitingFor = queuepb.TaskState_TASK_STATE_WAITING, 1_200
	path := Root + "task?tenant=acme&id=1-abc"
	text := s.get(path)
	assert.Contains(t, text, "<dd>waiting: waits for 1200 tasks</dd>")
	assert.Contains(t, text, `<a href="/ui/task?id=1-cat&amp;tenant=acme">1-cat</a></th><td>done</td><td>{&#34;url&#34;:&#34;&lt;cat&gt;&#34;}</td>`)
	assert.Contains(t, text, "<td>longer than 4 KiB</td>")
	assert.Contains(t, text, "<td>2 B of bytes</td>")
	assert.Contains(t, text, `href="/ui/task?id=1-abc&amp;page=TOKEN&amp;tenant=acme"`)
	assert.NotContains(t, s.get(path+"&page=TOKEN"), "Finished dependencies")

	s.tasks.task.WaitingFor = 1
	assert.Contains(t, s.get(path), "waits for 1 task</dd>")
	for _, code := range []codes.Code{codes.NotFound, codes.Unimplemented} {
		s.tasks.refusal = status.Error(code, "no")
		assert.NotContains(t, s.get(path), "Finished dependencies")
	}
	s.tasks.refusal = status.Error(codes.Unavailable, "no")
	assert.Equal(t, http.StatusServiceUnavailable, s.send(http.MethodGet, path, nil).Code)

	text = s.get(Root + "queue?tenant=acme&queue=mail&state=waiting")
	assert.Equal(t, queuepb.TaskState_TASK_STATE_WAITING, last[*adminpb.ListTasksRequest](s).GetState())
	assert.Contains(t, text, `aria-current="page">waiting (7)</a>`)
	assert.Contains(t, text, `<td class="n">1</td>`)
}
