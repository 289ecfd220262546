package jobs

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuedtest"
)

// The session may report a cancellation after Receive has returned the task and before its handler
// starts.
func TestACancellationBeforeTheHandlerStartsEndsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedtest.Start(t)
		p, err := s.Client.Producer(context.Background(), "")
		require.NoError(t, err)
		id, err := p.Enqueue(t.Context(), client.Task{Queue: DefaultQueue, Payload: []byte("{}")})
		require.NoError(t, err)
		require.NoError(t, p.Close(t.Context()))

		ended := make(chan Finish, 1)
		mux := NewMux()
		Kind[struct{}]("").Handle(mux, func(ctx context.Context, _ *Job[struct{}]) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		w := &Worker{Client: s.Client, Mux: mux, Logger: slog.New(slog.DiscardHandler), OnFinish: func(f Finish) { ended <- f }}
		r, err := w.open(t.Context())
		require.NoError(t, err)
		task, err := r.session.Receive(t.Context())
		require.NoError(t, err)
		_, err = s.Admin.CancelTasks(t.Context(), &adminpb.CancelTasksRequest{Ids: []string{id}})
		require.NoError(t, err)
		synctest.Wait() // the session has called OnCancel
		r.slots <- struct{}{}
		r.start(task)
		synctest.Wait()
		require.Len(t, ended, 1, "it does not wait for the first extension")
		end := <-ended
		require.Equal(t, Cancelled, end.Outcome)
		require.ErrorIs(t, end.Err, ErrCancelled)
		require.NoError(t, r.stop(nil))
	})
}
