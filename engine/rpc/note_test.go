package rpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func (s *server) extendWith(task *queuepb.Task, note string) *queuepb.ItemError {
	s.Helper()
	out, err := s.Extend(s.ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{
		{Id: task.GetId(), Token: task.GetToken(), LeaseMs: 3600_000, Note: note},
	}})
	require.NoError(s, err)
	return out.GetResults()[0].GetError()
}

// GetTask and the lists of leased, delayed and ready tasks return a note. A claim does not.
func TestTheNoteOfATaskIsSeen(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.enqueue(newTasks("q", 2)...)
	task, other := s.claim("q"), s.claim("q")
	assert.Nil(t, s.look(task.GetId()).Note)
	notes := func(state queuepb.TaskState) (all []string) {
		for _, listed := range s.listAll(admin, &adminpb.ListTasksRequest{Queue: "q", State: state, PageSize: 1}) {
			all = append(all, listed.GetNote())
		}
		return all
	}
	require.Nil(t, s.extendWith(task, "half"))
	assert.Equal(t, "half", s.look(task.GetId()).GetNote())
	assert.Nil(t, s.look(other.GetId()).Note)
	assert.ElementsMatch(t, []string{"half", ""}, notes(queuepb.TaskState_TASK_STATE_LEASED))
	require.Nil(t, s.complete(other))

	s.fail(task, "broke", 3600_000)
	assert.Equal(t, "half", s.look(task.GetId()).GetNote())
	assert.Equal(t, []string{"half"}, notes(queuepb.TaskState_TASK_STATE_DELAYED))

	s.enqueue(&queuepb.NewTask{Queue: "q", Priority: 9})
	task = s.claim("q")
	w := s.work(0, "none")
	w.send(&queuepb.WorkRequest{Frame: 1, Settlements: []*queuepb.Settlement{
		{Id: task.GetId(), Token: task.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, LeaseMs: 60_000, Error: "streamed"},
	}})
	require.Empty(t, w.answer().GetErrors())
	_, err := s.Release(s.ctx, &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{{Id: task.GetId(), Token: task.GetToken()}}})
	require.NoError(t, err)
	assert.Equal(t, []string{"streamed"}, notes(queuepb.TaskState_TASK_STATE_READY))
	again := s.claim("q")
	assert.Nil(t, again.Note)
	out, err := s.Fail(s.ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: again.GetId(), Token: again.GetToken(), Permanent: true}}})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	assert.Nil(t, s.look(task.GetId()).Note, "it is dead")
}

func TestABadNoteIsRefused(t *testing.T) {
	s := serve(t, nil)
	s.enqueue(newTasks("q", 1)...)
	task := s.claim("q")
	require.Nil(t, s.extendWith(task, strings.Repeat("n", 1<<10)))
	requireItemError(t, s.extendWith(task, strings.Repeat("n", 1<<10+1)), codeInvalid, "note")
}
