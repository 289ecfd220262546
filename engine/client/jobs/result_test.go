package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// Receipt is the result of a job.
type Receipt struct{ Bytes int }

// answering handles emails by setting each result in turn, and then returning an error.
func (b *bench) answering(fails error, results ...any) {
	send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
		for _, r := range results {
			if err := job.SetResult(r); err != nil {
				return err
			}
		}
		return fails
	})
}

func TestTheProducerGetsTheLastResult(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.answering(nil, Receipt{1}, Receipt{2})
		id := b.enqueue(Email{}, jobs.ResultRetention(time.Hour))
		b.run(jobs.Worker{})
		receipt, err := jobs.Await[Receipt](t.Context(), b.Client, "", id)
		require.NoError(t, err)
		assert.Equal(t, Receipt{2}, receipt)
		_, err = jobs.Await[int](t.Context(), b.Client, "", id)
		require.ErrorContains(t, err, "decode the result of job "+id)
		after(2 * time.Hour)
		_, err = jobs.Await[Receipt](t.Context(), b.Client, "", id)
		require.ErrorIs(t, err, client.ErrNotFound)
	})
}

// The worker has ended its session, so it completes the task with a unary call.
func TestAResultIsStoredDuringTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
			time.Sleep(10 * time.Second)
			return job.SetResult(Receipt{3})
		})
		id := b.enqueue(Email{}, jobs.ResultRetention(time.Hour))
		stop := b.run(jobs.Worker{})
		after(time.Second)
		require.NoError(t, stop())
		receipt, err := jobs.Await[Receipt](t.Context(), b.Client, "", id)
		require.NoError(t, err)
		assert.Equal(t, Receipt{3}, receipt)
	})
}

func TestAJobWithoutAResultReturnsTheZeroValue(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.answering(nil)
		id := b.enqueue(Email{}, jobs.ResultRetention(time.Hour))
		b.run(jobs.Worker{})
		receipt, err := jobs.Await[Receipt](t.Context(), b.Client, "", id)
		require.NoError(t, err)
		assert.Zero(t, receipt)
	})
}

func TestAJobThatEndedOtherwiseHasNoResult(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.answering(jobs.Permanent(errors.New("no such mailbox")), Receipt{1})
		dead := b.enqueue(Email{}, jobs.ResultRetention(time.Hour))
		b.run(jobs.Worker{})
		_, err := jobs.Await[Receipt](t.Context(), b.Client, "", dead)
		var death *jobs.DeadError
		require.ErrorAs(t, err, &death)
		assert.Equal(t, jobs.DeadError{ID: dead, LastError: "no such mailbox"}, *death)

		gone := b.enqueue(Email{}, jobs.ResultRetention(time.Hour), jobs.Delay(time.Hour))
		_, err = b.Admin.CancelTasks(t.Context(), &adminpb.CancelTasksRequest{Ids: []string{gone}})
		require.NoError(t, err)
		_, err = jobs.Await[Receipt](t.Context(), b.Client, "", gone)
		require.ErrorIs(t, err, client.ErrNotFound)

		late := b.enqueue(Email{}, jobs.Delay(time.Hour))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = jobs.Await[Receipt](short, b.Client, "", late)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// A retry would set the same result, so the task is dead.
func TestAResultThatTheServerRefusesFailsTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.answering(nil, make([]byte, 256<<10))
		b.enqueue(Email{}, jobs.ResultRetention(time.Hour))
		b.run(jobs.Worker{})
		after(time.Second)
		require.Equal(t, []jobs.Outcome{jobs.Dead}, b.outcomes())
		require.ErrorIs(t, b.finished[0].Err, client.ErrInvalidArgument)
		dead := b.Dead(jobs.DefaultQueue)
		require.Len(t, dead, 1)
		assert.Contains(t, dead[0].GetTask().GetLastError(), "store the result: ")
		assert.Contains(t, dead[0].GetTask().GetLastError(), "send at most 262144")
	})
}

func TestAResultWithoutRoomFailsTheAttempt(t *testing.T) {
	server, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Shutdown(context.Background())) })
	c, err := client.Dial(server.Addresses()[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	admin, err := client.DialAdmin(server.Admin())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	quotas := &adminpb.Quotas{BytesMax: 10 << 10}
	_, err = admin.ConfigureTenant(t.Context(), &adminpb.ConfigureTenantRequest{Tenant: "default", Quotas: quotas})
	require.NoError(t, err)
	p, err := c.Producer(t.Context(), "")
	require.NoError(t, err)
	_, err = send.Enqueue(t.Context(), p, Email{}, jobs.ResultRetention(time.Hour), jobs.MaxAttempts(1))
	require.NoError(t, err)
	require.NoError(t, p.Close(t.Context()))

	mux := jobs.NewMux()
	ctx, stop := context.WithCancel(t.Context())
	send.Handle(mux, func(_ context.Context, job *jobs.Job[Email]) error { return job.SetResult(make([]byte, 20<<10)) })
	var finished []jobs.Finish
	worker := jobs.Worker{Client: c, Mux: mux, Logger: slog.New(slog.DiscardHandler), OnFinish: func(f jobs.Finish) {
		finished = append(finished, f)
		stop()
	}}
	require.NoError(t, worker.Run(ctx))
	require.Len(t, finished, 1)
	assert.Equal(t, jobs.Failed, finished[0].Outcome)
	require.ErrorIs(t, finished[0].Err, client.ErrOverloaded)
	require.ErrorContains(t, finished[0].Err, "store the result: ")
}

func TestTheCodecOfAResultIsThatOfItsKind(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		const double jobs.Kind[uint32] = "double"
		double.Handle(b.mux, func(_ context.Context, job *jobs.Job[uint32]) error {
			if err := job.SetResult("not a number"); err == nil {
				return errors.New("the codec encodes a text")
			}
			return job.SetResult(2 * job.Args)
		}, jobs.Encoding(bigEndian{}))
		id, err := double.Enqueue(t.Context(), b.producer, 21, jobs.Encoding(bigEndian{}), jobs.ResultRetention(time.Hour))
		require.NoError(t, err)
		b.run(jobs.Worker{})
		result, err := jobs.Await[uint32](t.Context(), b.Client, "", id, jobs.Encoding(bigEndian{}))
		require.NoError(t, err)
		assert.EqualValues(t, 42, result)
	})
}

func TestAHandlerCanBeCalledWithoutAWorker(t *testing.T) {
	job := &jobs.Job[Email]{Args: Email{To: "ada"}}
	require.NoError(t, job.SetResult(Receipt{1}))
	require.Error(t, job.SetResult(func() {}))
}
