package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
)

// waiting handles emails by waiting until the context ends. It sends the reason to the channel.
func (b *bench) waiting(options ...jobs.HandleOption) <-chan error {
	causes := make(chan error, 100)
	send.Handle(b.mux, func(ctx context.Context, _ *jobs.Job[Email]) error {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}, options...)
	return causes
}

// next returns the next reason, or nil if there is none once nothing runs.
func next(causes <-chan error) error {
	synctest.Wait()
	select {
	case cause := <-causes:
		return cause
	default:
		return nil
	}
}

// sleeping handles emails by sleeping, whatever happens to the context.
func (b *bench) sleeping(d time.Duration) {
	send.Handle(b.mux, func(context.Context, *jobs.Job[Email]) error {
		time.Sleep(d)
		return nil
	})
}

func TestALongJobKeepsItsLease(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.sleeping(45 * time.Second)
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: 30 * time.Second})
		for range 44 {
			after(time.Second)
			tasks := b.Tasks(jobs.DefaultQueue)
			require.Len(t, tasks, 1)
			require.Equal(t, leased, tasks[0].GetState())
			require.EqualValues(t, 1, tasks[0].GetAttempt())
			require.Greater(t, tasks[0].GetLeaseExpiresAtMs()-b.Now().UnixMilli(), int64(19_000), "extended at a third of the lease")
		}
		after(2 * time.Second)
		assert.Empty(t, b.Tasks(jobs.DefaultQueue))
		assert.Equal(t, []jobs.Outcome{jobs.Completed}, b.outcomes())
	})
}

func TestATimeoutFailsTheAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		causes := b.waiting(jobs.Timeout(10 * time.Second))
		b.enqueue(Email{}, jobs.MaxAttempts(1))
		b.run(jobs.Worker{})
		after(9 * time.Second)
		assert.Empty(t, causes)
		after(2 * time.Second)
		require.ErrorIs(t, next(causes), jobs.ErrTimeout)
		require.Len(t, b.Dead(jobs.DefaultQueue), 1)
		assert.Equal(t, jobs.ErrTimeout.Error()+": context deadline exceeded", b.Dead(jobs.DefaultQueue)[0].GetTask().GetLastError())
	})
}

func TestACancellationEndsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		causes := b.waiting()
		id := b.enqueue(Email{N: 1})
		b.run(jobs.Worker{Concurrency: 1})
		after(time.Second)
		began := time.Now()
		_, err := b.Admin.CancelTasks(t.Context(), &adminpb.CancelTasksRequest{Ids: []string{id}})
		require.NoError(t, err)
		require.ErrorIs(t, next(causes), jobs.ErrCancelled)
		assert.Zero(t, time.Since(began), "the server pushes it")
		synctest.Wait()
		assert.Equal(t, []jobs.Outcome{jobs.Cancelled}, b.outcomes())
		assert.Empty(t, b.Tasks(jobs.DefaultQueue))
		b.enqueue(Email{N: 2})
		synctest.Wait()
		assert.Equal(t, leased, b.Tasks(jobs.DefaultQueue)[0].GetState(), "the slot is free")
	})
}

// The server ends the lease: its clock is moved, and the worker's is not.
func TestALostLeaseEndsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		causes := b.waiting()
		b.enqueue(Email{}, jobs.MaxAttempts(2))
		b.run(jobs.Worker{Lease: 30 * time.Second})
		after(time.Second)
		b.Advance(40 * time.Second)
		after(8 * time.Second)
		assert.Empty(t, causes)
		after(2 * time.Second) // the first extension is refused
		require.ErrorIs(t, next(causes), jobs.ErrLeaseLost)
		assert.Equal(t, []jobs.Outcome{jobs.Lost}, b.outcomes())
	})
}

// The worker cannot reach the server, and so cannot extend the lease.
func TestALeaseThatCannotBeExtendedEndsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		causes := b.waiting()
		b.enqueue(Email{})
		w := jobs.Worker{Client: b.Client, Mux: b.mux, Lease: 30 * time.Second, Grace: time.Hour, Logger: slog.New(slog.DiscardHandler)}
		ended := make(chan error)
		go func() { ended <- w.Run(t.Context()) }()
		after(time.Second)
		require.NoError(t, b.Client.Close())
		after(28 * time.Second)
		assert.Empty(t, causes)
		after(2 * time.Second)
		require.ErrorIs(t, next(causes), jobs.ErrLeaseLost)
		require.ErrorContains(t, <-ended, "the client was closed")
	})
}

func TestAStoppedWorkerWaitsForItsHandlers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.sleeping(10 * time.Second)
		for range 5 {
			b.enqueue(Email{})
		}
		stop := b.run(jobs.Worker{Concurrency: 2, Grace: 20 * time.Second, Lease: 6 * time.Second})
		after(5 * time.Second)
		began := time.Now()
		require.NoError(t, stop())
		assert.InDelta(t, 5*time.Second, time.Since(began), float64(time.Second), "Run returns when the handlers have")
		assert.Equal(t, []jobs.Outcome{jobs.Completed, jobs.Completed}, b.outcomes())
		tasks := b.Tasks(jobs.DefaultQueue)
		require.Len(t, tasks, 3)
		for _, task := range tasks {
			assert.Equal(t, ready, task.GetState(), "ready for other workers")
			assert.Zero(t, task.GetAttempt())
		}
	})
}

// While handlers run during the grace, the tasks without a handler are ready for other workers.
func TestAStoppingWorkerReceivesNoTask(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.sleeping(10 * time.Second)
		b.enqueue(Email{})
		stop := b.run(jobs.Worker{Concurrency: 2})
		after(time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		b.enqueue(Email{})
		after(time.Second)
		tasks := b.Tasks(jobs.DefaultQueue)
		require.Len(t, tasks, 2)
		assert.Equal(t, leased, tasks[0].GetState())
		assert.Equal(t, ready, tasks[1].GetState())
		require.NoError(t, <-stopped)
	})
}

func TestAfterTheGraceTheTasksAreReleased(t *testing.T) {
	for name, grace := range map[string]time.Duration{"some": 7 * time.Second, "none": -1} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bench) {
				causes := b.waiting()
				b.enqueue(Email{}, jobs.MaxAttempts(1))
				stop := b.run(jobs.Worker{Grace: grace})
				after(time.Second)
				began := time.Now()
				require.NoError(t, stop())
				assert.InDelta(t, max(grace, 0), time.Since(began), float64(time.Second))
				require.ErrorIs(t, next(causes), jobs.ErrShutdown)
				assert.Equal(t, []jobs.Outcome{jobs.Released}, b.outcomes())
				tasks := b.Tasks(jobs.DefaultQueue)
				require.Len(t, tasks, 1)
				assert.Equal(t, ready, tasks[0].GetState())
				assert.Zero(t, tasks[0].GetAttempt())
			})
		})
	}
}

func TestAHandlerThatIgnoresItsContextDoesNotBlockTheStop(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.sleeping(time.Hour)
		id := b.enqueue(Email{})
		w := jobs.Worker{Client: b.Client, Mux: b.mux, Grace: time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		after(time.Second)
		cancel()
		err := <-ended
		require.ErrorContains(t, err, "email.send ("+id+")")
		tasks := b.Tasks(jobs.DefaultQueue)
		require.Len(t, tasks, 1)
		assert.Equal(t, ready, tasks[0].GetState())
		assert.Zero(t, tasks[0].GetAttempt())
		after(time.Hour) // the handler returns
		assert.Len(t, b.Tasks(jobs.DefaultQueue), 1)
	})
}

func TestAWorkerThatIsStoppedBeforeItsSessionIsOpenReturns(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := jobs.Worker{Client: b.Client, Mux: b.mux}
		require.NoError(t, w.Run(ctx))
		unreachable, err := client.Dial("nowhere", grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("no network") }))
		require.NoError(t, err)
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.NoError(t, (&jobs.Worker{Client: unreachable, Mux: b.mux}).Run(ctx))
		require.NoError(t, unreachable.Close())
		w.Queues = map[string]int{"not a name": 1}
		require.Error(t, w.Run(t.Context()))
		w.Queues, w.Concurrency = nil, -1
		require.Error(t, w.Run(t.Context()))
	})
}
