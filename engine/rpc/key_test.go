package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// Each call that removes a task frees its idempotency key before it returns.
func TestRemovingATaskFreesItsKey(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	enqueue := func() string {
		return s.enqueue(&queuepb.NewTask{Queue: "q", IdempotencyKey: "k", MaxAttempts: 1})[0]
	}
	cancel := func(id string) error {
		_, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: []string{id}})
		return err
	}
	earlier := map[string]bool{}
	for _, c := range []struct {
		name   string
		remove func(id string) error
	}{
		{"CancelTasks", cancel},
		{"CancelTasks while leased", func(id string) error {
			s.claim("q")
			return cancel(id)
		}},
		{"PurgeQueue", func(string) error {
			_, err := admin.PurgeQueue(s.ctx, &adminpb.PurgeQueueRequest{Queue: "q"})
			return err
		}},
		{"PurgeDead", func(id string) error {
			s.fail(s.claim("q"), "oops", 0)
			_, err := admin.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Ids: []string{id}})
			return err
		}},
		{"DeleteQueue", func(string) error {
			_, err := admin.DeleteQueue(s.ctx, &adminpb.DeleteQueueRequest{Queue: "q", Force: true})
			return err
		}},
	} {
		id := enqueue()
		require.Equal(t, id, enqueue(), "the key belongs to the task")
		earlier[id] = true
		require.NoError(t, c.remove(id), c.name)
		require.NotContains(t, earlier, enqueue(), c.name)
		require.NoError(t, cancel(enqueue()))
	}
}
