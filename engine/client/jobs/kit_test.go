package jobs_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Email is the arguments of a job.
type Email struct {
	To string
	N  int
}

const send jobs.Kind[Email] = "email.send"

// bench is a server and a worker in a bubble of virtual time.
type bench struct {
	*testing.T
	*queuedtest.Server

	producer *client.Producer
	mux      *jobs.Mux

	mu       sync.Mutex
	finished []jobs.Finish
}

// bubble runs a test in a synctest bubble, which fails if a goroutine does not end.
func bubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, Server: queuedtest.Start(t), mux: jobs.NewMux()}
		p, err := b.Client.Producer(context.Background(), "")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
		b.producer = p
		test(t, b)
	})
}

func (b *bench) enqueue(args Email, options ...jobs.EnqueueOption) string {
	b.Helper()
	id, err := send.Enqueue(b.Context(), b.producer, args, options...)
	require.NoError(b, err)
	return id
}

// run runs a worker until stop is called or the test ends.
func (b *bench) run(w jobs.Worker) (stop func() error) {
	b.Helper()
	w.Client, w.Mux, w.Logger = b.Client, b.mux, slog.New(slog.DiscardHandler)
	if w.Lease == 0 {
		w.Lease = 30 * time.Second
	}
	w.OnFinish = func(f jobs.Finish) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.finished = append(b.finished, f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	b.Cleanup(func() { require.NoError(b, stop()) })
	return stop
}

// outcomes returns how the attempts so far have ended.
func (b *bench) outcomes() (all []jobs.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.finished {
		all = append(all, f.Outcome)
	}
	return all
}

// after lets virtual time pass and waits until nothing runs.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
