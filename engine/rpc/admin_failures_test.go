package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestFailuresAreListed(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	id := s.enqueue(&queuepb.NewTask{Queue: "q", MaxAttempts: 2, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 1}})[0]
	s.fail(s.claim("q"), "first", 1)
	attempts, err := admin.ListAttempts(s.ctx, &adminpb.ListAttemptsRequest{Id: id})
	require.NoError(t, err)
	require.Len(t, attempts.GetAttempts(), 1, "a task that is not dead has a history")
	assert.Equal(t, "first", attempts.GetAttempts()[0].GetError())
	s.fail(s.claim("q"), "second", 1)
	s.enqueue(&queuepb.NewTask{Queue: "other", MaxAttempts: 9})
	s.fail(s.claim("other"), "third", 60_000)

	attempts, err = admin.ListAttempts(s.ctx, &adminpb.ListAttemptsRequest{Id: id})
	require.NoError(t, err)
	require.Len(t, attempts.GetAttempts(), 2)
	assert.Equal(t, adminpb.Outcome_OUTCOME_FAILED, attempts.GetAttempts()[1].GetOutcome())
	assert.Equal(t, []any{uint32(2), "second"}, []any{attempts.GetAttempts()[1].GetAttempt(), attempts.GetAttempts()[1].GetError()})
	_, err = admin.ListAttempts(s.ctx, &adminpb.ListAttemptsRequest{Id: unknownID})
	requireCode(t, codes.NotFound, err)
	_, err = admin.ListAttempts(s.ctx, &adminpb.ListAttemptsRequest{Tenant: "else", Id: id})
	requireCode(t, codes.NotFound, err)
	_, err = admin.ListAttempts(s.ctx, &adminpb.ListAttemptsRequest{Id: "?"})
	requireField(t, "id", err)

	errors := func(in *adminpb.ListFailuresRequest) (out []string) {
		t.Helper()
		got, err := admin.ListFailures(s.ctx, in)
		require.NoError(t, err)
		for _, f := range got.GetFailures() {
			out = append(out, f.GetQueue()+" "+f.GetAttempt().GetError())
		}
		return out
	}
	assert.ElementsMatch(t, []string{"other third", "q second", "q first"}, errors(&adminpb.ListFailuresRequest{}))
	assert.Equal(t, []string{"other third"}, errors(&adminpb.ListFailuresRequest{Queue: "other"}))
	assert.Len(t, errors(&adminpb.ListFailuresRequest{PageSize: 2}), 2)
	assert.Empty(t, errors(&adminpb.ListFailuresRequest{Tenant: "else"}))
	got, err := admin.ListFailures(s.ctx, &adminpb.ListFailuresRequest{Queue: "q"})
	require.NoError(t, err)
	require.Len(t, got.GetFailures(), 2)
	dead, retried := got.GetFailures()[0], got.GetFailures()[1]
	assert.Equal(t, []any{id, adminpb.DeathReason_DEATH_REASON_ATTEMPTS}, []any{dead.GetId(), dead.GetDeathReason()})
	assert.Equal(t, adminpb.DeathReason_DEATH_REASON_UNSPECIFIED, retried.GetDeathReason())
	_, err = admin.ListFailures(s.ctx, &adminpb.ListFailuresRequest{Queue: "?"})
	requireField(t, "queue", err)
}
